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
const isThere = spawnSync('nutcracker', ['--version'], { env: { PATH } }).error === undefined;
if (!isThere && process.env.CI !== 'true') process.stderr.write('no nutcracker (twemproxy): its test is skipped\n');

const MEMBERS = ['us/a', 'us/b'];
const CLIENTS = 4;
const SOME = 300;
/** twemproxy closes connections that send INFO or CLIENT, as ioredis does when it connects. */
const PLAIN = { enableReadyCheck: false, disableClientInfo: true } as const;

/** As in docs/members.md. */
function configuration(port: number, members: readonly number[]): string {
  return [
    'quotadb:',
    `  listen: 127.0.0.1:${port}`,
    '  redis: true',
    '  hash: fnv1a_64',
    '  distribution: ketama',
    '  timeout: 2000',
    '  auto_eject_hosts: true',
    '  server_failure_limit: 1',
    '  server_retry_timeout: 500',
    '  servers:',
    ...members.map((member, index) => `   - 127.0.0.1:${member}:1 member-${index}`),
    '',
  ].join('\n');
}

describe.skipIf(!isThere && process.env.CI !== 'true')('two members behind twemproxy', () => {
  let cluster: TestRegions;
  let directory: string;
  let proxy: ChildProcess | undefined;
  afterEach(async () => {
    proxy?.kill('SIGKILL');
    if (proxy !== undefined && proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
    await cluster.close();
    await rm(directory, { recursive: true });
  });

  test('take writes all the time: each is killed, clients go on at the same address, and nothing acknowledged is lost', async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-twemproxy-'));
    const ports = new Map<string, number>();
    for (const name of MEMBERS) ports.set(name, await freePort());
    const flagsOf = (name: string) => [
      ...['--data', join(directory, name.replace('/', '-')), '--fsync', 'always', '--resp', `${ports.get(name)}`],
    ];
    cluster = await TestRegions.make(MEMBERS);
    await cluster.startAll(flagsOf);
    await cluster.allConnected();
    const [port, statisticsPort] = [await freePort(), await freePort()];
    const file = join(directory, 'nutcracker.yml');
    await writeFile(file, configuration(port, [...ports.values()]));
    const words = ['--conf-file', file, '--stats-addr', '127.0.0.1', '--stats-port', `${statisticsPort}`];
    proxy = spawn('nutcracker', words, { stdio: 'ignore', env: { ...process.env, PATH } });
    const load = startLoad([port], CLIENTS, 'n', PLAIN);
    await eventually(async () => expect(load.acknowledged).toBeGreaterThan(SOME));
    // twemproxy sends all commands for a key to one member: one of the two kills is its.
    for (const name of MEMBERS) {
      await cluster.kill(name);
      const before = load.acknowledged;
      await eventually(async () => expect(load.acknowledged).toBeGreaterThan(before + SOME));
      await cluster.start(name, flagsOf(name));
      await cluster.allConnected();
    }
    await load.stop();
    await eventually(async () => {
      const values = await Promise.all(MEMBERS.map((name) => cluster.value(name, 'n')));
      expect(values[0]).toBe(values[1]);
      expect(values[0]).toBeGreaterThanOrEqual(load.acknowledged);
    });
    expect(await cluster.value('us/b', 'n')).toBeLessThanOrEqual(load.attempted);
  });
});
