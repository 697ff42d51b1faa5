import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { QUOTADB_BINARY, type SpawnedServer, spawnServer, TestRegions } from '../testing/index.js';
import { awaitRoomInWindows, type ConsoleExample, consoleExamples, withoutChance } from './testing/console-blocks.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/start.md'), 'utf8');
const programs = ['script', 'curl', 'bash'];
const areThere = programs.every((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);

/** The ports that the page names, and those that the servers of this test have. */
type Ports = Readonly<Record<string, number>>;

describe.skipIf(!areThere && process.env.CI !== 'true')('the ten-minute start', () => {
  let directory: string;
  let server: SpawnedServer;
  let regions: TestRegions;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-start-'));
    regions = await TestRegions.start(['us', 'eu', 'ap']);
    await regions.call('us', 'INCR', 'warm');
    await regions.agreeOn('warm', 1);
  });
  afterAll(async () => {
    server?.child.kill('SIGKILL');
    await regions.close();
    await rm(directory, { recursive: true, force: true });
  });

  const startServer = async (): Promise<Ports> => {
    server = spawnServer(['--data', join(directory, 'data'), '--max-memory', '512mb']);
    const { resp, http } = await server.ready();
    return { 6380: resp, 8380: http };
  };

  /** Everything but the ports is as the page has it. At a terminal, because that is where the reader is. */
  const check = async ({ command, printed }: ConsoleExample, ports: Ports): Promise<void> => {
    const local = Object.entries(ports)
      .reduce((text, [named, port]) => text.replaceAll(named, String(port)), command)
      .replaceAll('/tmp/quotadb-start', join(directory, 'start'))
      .replaceAll(/npx quotadb (cli|status)(?! --resp)/g, `npx quotadb $1 --resp ${ports[6380]}`)
      .replaceAll('npx quotadb', `'${process.execPath}' '${QUOTADB_BINARY}'`);
    const { stdout } = await run('script', ['-qec', local, '/dev/null'], {
      cwd: root,
      env: { ...process.env, SHELL: '/bin/bash' },
    });
    expect(withoutChance(stdout), command).toBe(withoutChance(printed));
  };

  test('prints what its commands print, also after the server was killed, and in three regions', async () => {
    const [before, killed, together] = page.split(/^## [67]\. /m).map(consoleExamples);
    expect([before.length, killed.length, together.length]).toEqual([16, 1, 3]);
    const first = await startServer();
    await awaitRoomInWindows(page);
    for (const example of before) await check(example, first);
    // Past the interval in which everything is flushed: the disk says so itself.
    await run(process.execPath, [QUOTADB_BINARY, 'cli', '--resp', String(first[6380]), 'WAITAOF', '1', '0', '0']);
    server.child.kill('SIGKILL');
    await server.finished;
    const second = await startServer();
    for (const example of killed) await check(example, second);
    const ofRegions = { 6390: 'us', 6391: 'eu', 6392: 'ap' };
    const ports = Object.fromEntries(
      Object.entries(ofRegions).map(([port, name]) => [port, regions.of(name).ready.resp]),
    );
    for (const example of together) await check(example, ports);
  }, 120_000);
});
