import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { eventually, type SpawnedServer, spawnServer, TestClient, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const LIMIT = 100;
const WINDOW_MS = 3000;
const WINDOWS = 3;
/** As short as clocks of one machine allow: a new incarnation starts a window soon after it began. */
const FLAGS = ['--clock-skew-bound', '100', '--home', 'us', '--fsync', '10'];

let regions: TestRegions;
let second: SpawnedServer | undefined;
let directory: string;
afterEach(async () => {
  await second?.stop();
  await regions.close();
  await rm(directory, { recursive: true });
});

/** Takes one token at a time, from several servers, and counts what was allowed in each window. */
async function takeFrom(clients: readonly TestClient[], untilMs: number): Promise<Map<number, number>> {
  const allowed = new Map<number, number>();
  await Promise.all(
    clients.map(async (client) => {
      while (Date.now() < untilMs) {
        const startedIn = Math.floor(Date.now() / WINDOW_MS);
        const reply = await client.call('QUOTA.TAKE', 'calls', 's', 1);
        if (reply.startsWith('*5\r\n:1\r\n')) allowed.set(startedIn, (allowed.get(startedIn) ?? 0) + 1);
        else await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }),
  );
  return allowed;
}

test('a second server under the name of a region is refused in both logs, and admits nothing of its quotas', async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
  const data = (name: string) => ['--data', join(directory, name)];
  regions = await TestRegions.make(['us', 'eu'], { flags: FLAGS });
  await regions.startAll(data);
  await regions.allConnected();
  expect(
    await regions.call('us', 'QUOTA.DEFINE', 'calls', 'LIMIT', LIMIT, 'WINDOW', WINDOW_MS, 'ALLOCATOR', 'us'),
  ).toBe('+OK\r\n');
  const toEu = ['--peer', `eu=127.0.0.1:${regions.of('eu').ready.repl}`];
  const common = ['--transport', 'net', '--max-memory', '32mb', '--log-level', 'info', '--region', 'us'];
  second = spawnServer([...common, ...FLAGS, ...toEu, ...data('second')]);
  const twin = await TestClient.open((await second.ready()).resp);
  await eventually(async () => expect(await twin.call('INFO', 'replication')).toContain('state=refused'));
  expect(await twin.call('INFO', 'replication')).toContain('another server runs as region us');
  expect((await regions.peer('eu', 'us')).state).toBe('connected');

  const clients = [twin, regions.of('us').client, regions.of('eu').client];
  const allowed = await takeFrom(clients, Date.now() + (WINDOWS + 1) * WINDOW_MS);
  const whole = [...allowed].sort(([one], [other]) => one - other).slice(1, -1);
  expect(whole.length).toBeGreaterThanOrEqual(WINDOWS - 1);
  // A take that began just before the end of a window may have counted in the next.
  for (const [, count] of whole) expect(count).toBeLessThanOrEqual(LIMIT + clients.length);
  expect([...allowed.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(LIMIT);

  // The first one is gone: the second is let in, and all counts come together.
  await twin.call('INCRBY', 'k', 10);
  await regions.kill('us');
  await eventually(async () => expect(await regions.value('eu', 'k')).toBe(10));
  twin.close();
  const { stderr } = await second.stop();
  expect(stderr).toContain('a region refuses to replicate with this one: another server runs as region us');
  expect(stderr).toContain('this server holds the name of its region');
  second = undefined;
  expect(await regions.stop('eu')).toContain('refused to replicate with a region: another server runs as region us');
});

test('a clone beside its original is refused before it has sent anything; with the original gone, nothing is lost', async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
  const data = (name: string) => ['--data', join(directory, name), '--fsync', '10'];
  regions = await TestRegions.make(['us', 'eu', 'ap']);
  await regions.startAll(data);
  await regions.allConnected();
  await regions.call('us', 'INCRBY', 'k', 100);
  await regions.agreeOn('k', 100);
  await cp(join(directory, 'us'), join(directory, 'clone'), { recursive: true });
  const toAp = ['--peer', `ap=127.0.0.1:${regions.of('ap').ready.repl}`];
  const common = ['--transport', 'net', '--max-memory', '32mb', '--log-level', 'info', '--region', 'us'];
  const startClone = async () => {
    second = spawnServer([...common, ...toAp, ...data('clone')]);
    return TestClient.open((await second.ready()).resp);
  };
  const clone = await startClone();
  await eventually(async () =>
    expect(await clone.call('INFO', 'replication')).toContain('another server runs as region us'),
  );
  for (let count = 0; count < 100; count++) {
    await clone.call('INCR', 'k');
    await regions.call('us', 'INCR', 'k');
  }
  await regions.agreeOn('k', 200);
  await regions.stop('us');
  // Its peers hold what the original counted meanwhile: it is an old copy now.
  await eventually(async () =>
    expect(await clone.call('INFO', 'replication')).toMatch(/quotadb_old_copy:the data of us/),
  );
  clone.close();
  await second?.stop();
  const again = await startClone();
  await eventually(async () => {
    expect(await again.call('GET', 'k')).toBe('$3\r\n300\r\n');
    for (const region of ['eu', 'ap']) expect(await regions.value(region, 'k')).toBe(300);
  });
  again.close();
  expect(await regions.stop('ap')).toContain('refused to replicate with a region: another server runs as region us');
});
