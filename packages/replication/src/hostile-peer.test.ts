import { MAX_VERSION, OWN_ORIGIN } from '@quotadb/engine';
import { encodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { expect, test } from 'vitest';
import type { Link } from './link.js';
import { TestCluster, type TestClusterOptions } from './testing/test-cluster.js';

const regions = ['us', 'eu', 'ap'];

function makeCluster(options: TestClusterOptions = {}): { cluster: TestCluster; said: string[] } {
  const said: string[] = [];
  const cluster = new TestCluster(regions, {
    events: { ahead: (link, what) => said.push(`${link.region}: ${what}`) },
    ...options,
  });
  cluster.connectAll();
  return { cluster, said };
}

function linkOf(cluster: TestCluster, at: string, to: string): Link {
  return cluster.node(at).members.get(to)?.link as Link;
}

/** A frame as if `from` had sent it to `to`. */
function forge(cluster: TestCluster, from: string, to: string, frame: Frame): void {
  linkOf(cluster, to, from).receive(encodeFrame(frame));
}

test('a region in 2058 is refused by name and reaches nobody; with its clock right again it is heard', () => {
  const { cluster, said } = makeCluster();
  for (const region of regions) cluster.add(region, 'k', 1n);
  cluster.settle();
  cluster.node('eu').engine.advanceTo(Date.UTC(2058, 0, 1));
  cluster.add('eu', 'k', 10n);
  cluster.settle(30_000);
  cluster.add('us', 'k', 5n);
  cluster.settle();
  expect([cluster.value('us', 'k'), cluster.value('ap', 'k')]).toEqual([8n, 8n]);
  expect(cluster.value('eu', 'k')).toBe(18n);
  expect(said.find((line) => line.startsWith('eu: '))).toMatch(/^eu: .+ \d+, which is 31 years ahead of this server/);
  // The link stays, and what could not be applied is not requested all the time.
  const { figures } = linkOf(cluster, 'us', 'eu');
  expect(figures.framesAhead).toBeGreaterThan(0);
  const before = figures.batchesIn;
  cluster.settle(30_000);
  expect(figures.batchesIn - before).toBeLessThanOrEqual(4);
  cluster.kill('eu');
  cluster.make('eu', 7);
  for (const region of ['us', 'ap']) cluster.connect(region, 'eu');
  cluster.add('eu', 'k', 100n);
  cluster.settle(15_000);
  for (const region of regions) expect(cluster.value(region, 'k')).toBe(108n);
});

test('a region whose clock is behind hears nothing new, and everything when its clock is right', () => {
  const { cluster, said } = makeCluster();
  cluster.settle(100);
  const { engine } = cluster.node('eu');
  const advanceTo = engine.advanceTo.bind(engine);
  const stoppedMs = cluster.nowMs;
  Object.assign(engine, { advanceTo: () => advanceTo(stoppedMs) });
  cluster.settle(70_000);
  cluster.add('us', 'k', 5n);
  cluster.settle(1000);
  expect(cluster.value('eu', 'k')).toBe(0n);
  expect(said.some((line) => line.startsWith('us: '))).toBe(true);
  Object.assign(engine, { advanceTo });
  cluster.settle(15_000);
  expect(cluster.value('eu', 'k')).toBe(5n);
});

test('a watermark that nobody can have reached acknowledges nothing', () => {
  const { cluster } = makeCluster();
  cluster.add('us', 'k', 1n);
  cluster.settle();
  const us = cluster.node('us');
  const own = Buffer.from(us.ownName, 'hex');
  const shards = [...us.seenOf(us.ownName).keys()];
  const process = { boot: 0, bootAgeMs: 0 };
  const seen = {
    kind: FrameKind.seen,
    ageMs: 0,
    isWhole: true,
    afterToken: 0,
    isKept: true,
    ...process,
    shards,
  } as const;
  const acknowledged = () => shards.map((shard) => us.members.get('eu')?.durable.find(us.ownName)?.[shard] ?? 0);
  const before = acknowledged();
  forge(cluster, 'eu', 'us', { ...seen, origin: own, versions: shards.map(() => MAX_VERSION) });
  expect(acknowledged()).toEqual(before);
  // Just above the own sequence: the region claims to hold what this one has not written.
  const versions = shards.map((shard) => us.engine.seen(shard, OWN_ORIGIN) + 1);
  forge(cluster, 'eu', 'us', { ...seen, origin: own, versions });
  expect(us.isConnected('eu')).toBe(false);
  expect(acknowledged()).toEqual(shards.map(() => 0));
});

test('a region that may not relay cannot claim that the counts of a third are gone', () => {
  const { cluster } = makeCluster({ relays: [] });
  cluster.add('ap', 'k', 5n);
  cluster.settle();
  expect(cluster.value('us', 'k')).toBe(5n);
  const { engine } = cluster.node('us');
  const index = engine.origins.find(Buffer.from(cluster.node('ap').ownName, 'hex'));
  for (let shard = 0; shard < engine.shardCount; shard++) {
    forge(cluster, 'eu', 'us', {
      kind: FrameKind.inventory,
      origin: engine.origins.idOf(index),
      shard,
      version: engine.seen(shard, index),
      rangeCount: 1,
      range: 0,
      wantsAnswer: false,
      keys: [],
      versions: [],
    });
    cluster.settle(20);
  }
  expect(cluster.value('us', 'k')).toBe(5n);
});
