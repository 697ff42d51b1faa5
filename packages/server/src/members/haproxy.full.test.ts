import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';
import { startLoad } from '../testing/member-load.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** Debian has it where only root looks. */
const PATH = `${process.env.PATH}:/usr/sbin`;
const isThere = spawnSync('haproxy', ['-v'], { env: { PATH } }).status === 0;
if (!isThere && process.env.CI !== 'true') process.stderr.write('no haproxy: its test is skipped\n');

const CLIENTS = 6;
const SOME = 300;

/** As in docs/members.md. */
function configuration(port: number, backends: readonly number[]): string {
  return [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 1h',
    '  timeout server 1h',
    '  retries 3',
    '  option redispatch',
    'listen quotadb',
    `  bind 127.0.0.1:${port}`,
    '  balance leastconn',
    '  option tcp-check',
    '  tcp-check connect',
    '  tcp-check send PING\\r\\n',
    '  tcp-check expect string +PONG',
    ...backends.map(
      (backend, index) => `  server member-${index} 127.0.0.1:${backend} check inter 200ms fall 2 rise 1`,
    ),
    '',
  ].join('\n');
}

describe.skipIf(!isThere && process.env.CI !== 'true')('two members behind HAProxy', () => {
  let cluster: TestRegions;
  let directory: string;
  let proxy: ChildProcess | undefined;
  afterEach(async () => {
    proxy?.kill('SIGKILL');
    if (proxy !== undefined && proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
    await cluster.close();
    await rm(directory, { recursive: true });
  });

  test('take writes all the time: one is killed, clients go on at the same address, and nothing acknowledged is lost', async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-haproxy-'));
    cluster = await TestRegions.start(['us/a', 'us/b'], {
      flags: ['--replicate-before-reply', '1', '--replicate-timeout', '500'],
    });
    await cluster.allConnected();
    const port = await freePort();
    const file = join(directory, 'haproxy.cfg');
    await writeFile(
      file,
      configuration(
        port,
        ['us/a', 'us/b'].map((name) => cluster.of(name).ready.resp),
      ),
    );
    proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore', env: { ...process.env, PATH } });
    const load = startLoad([port], CLIENTS, 'n');
    await eventually(async () => expect(load.acknowledged).toBeGreaterThan(SOME));
    await cluster.kill('us/a');
    // A lone member has no server to replicate to: its replies are errors until the other is back, in memory and empty.
    await cluster.start('us/a');
    const before = load.acknowledged;
    await eventually(async () => expect(load.acknowledged).toBeGreaterThan(before + SOME));
    await load.stop();
    await eventually(async () => {
      const values = await Promise.all(['us/a', 'us/b'].map((name) => cluster.value(name, 'n')));
      expect(values[0]).toBe(values[1]);
      expect(values[0]).toBeGreaterThanOrEqual(load.acknowledged);
    });
    expect(await cluster.value('us/b', 'n')).toBeLessThanOrEqual(load.attempted);
  });
});
