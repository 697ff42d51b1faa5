import { Engine, versionAt } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { OwnStarts, type Start } from './own-starts.js';
import { TestCluster, type TestClusterOptions } from './testing/test-cluster.js';

const SHARDS = 2;
const START_MS = Date.UTC(2026, 5, 1);

/** A cluster in which `us` has started with an empty directory, which may turn out to be an old copy. */
function makeCluster(regions: readonly string[], options: TestClusterOptions = {}) {
  const found: string[] = [];
  const released: number[] = [];
  const cluster: TestCluster = new TestCluster(regions, {
    shardCount: SHARDS,
    starts: { us: ({ nowMs }) => [{ versions: [0, 0], nowMs, isHeld: true }] },
    release: () => {
      released.push(cluster.nowMs);
      return true;
    },
    events: { oldCopy: (link, { reason }) => found.push(`${link.region}: ${reason}`) },
    ...options,
  });
  for (const region of regions) if (region !== 'us') cluster.node('us').addMember(region);
  return { cluster, found, released };
}

test('own changes leave when every member has shown no old copy', () => {
  const { cluster, released } = makeCluster(['us', 'eu', 'ap']);
  cluster.add('us', 'k', 5n);
  cluster.connect('us', 'eu');
  cluster.settle(1000);
  expect([cluster.value('eu', 'k'), released]).toEqual([0n, []]);
  cluster.connect('us', 'ap');
  cluster.settle(1000);
  expect(released).toHaveLength(1);
  expect(['eu', 'ap'].map((region) => cluster.value(region, 'k'))).toEqual([5n, 5n]);
});

test('or when one has, and the others had time to', () => {
  const { cluster, released } = makeCluster(['us', 'eu', 'ap']);
  const { silenceMs } = cluster.node('us').settings;
  cluster.add('us', 'k', 5n);
  cluster.settle(2 * silenceMs);
  expect(released).toEqual([]);
  cluster.connect('us', 'eu');
  cluster.settle(silenceMs - 1000);
  expect([cluster.value('eu', 'k'), released]).toEqual([0n, []]);
  cluster.settle(2000);
  expect(released).toHaveLength(1);
  expect(cluster.value('eu', 'k')).toBe(5n);
});

test('and never where that cannot be noted on disk', () => {
  const { cluster } = makeCluster(['us', 'eu'], { release: () => false });
  cluster.add('us', 'k', 5n);
  cluster.connect('us', 'eu');
  cluster.settle(20_000);
  expect(cluster.value('eu', 'k')).toBe(0n);
});

test('a member that shows an old copy ends all links before any change has left, also where another came first', () => {
  const { cluster, found, released } = makeCluster(['us', 'eu', 'ap']);
  // The original has sent its last change to one of the two.
  cluster.make('us', 0, 'original');
  cluster.connect('original', 'ap');
  cluster.add('original', 'k', 1000n);
  cluster.settle(100);
  cluster.kill('original');
  released.length = 0;
  cluster.add('us', 'k', 1n);
  cluster.connect('us', 'eu');
  cluster.settle(1000);
  cluster.connect('us', 'ap');
  cluster.settle(20_000);
  expect(found).toEqual([expect.stringMatching(/^ap: the data of us is older .* that has the counts of both$/)]);
  expect(released).toEqual([]);
  expect(cluster.node('us').links.size).toBe(0);
  cluster.connect('us', 'eu');
  cluster.settle(1000);
  expect([cluster.value('eu', 'k'), cluster.value('ap', 'k')]).toEqual([0n, 1000n]);
});

test('what a member confirmed is void once it refuses the name: another process runs, and goes on changing', () => {
  const { cluster, found } = makeCluster(['us', 'eu', 'ap']);
  cluster.connect('us', 'eu');
  cluster.add('us', 'k', 1n);
  cluster.make('us', 0, 'clone');
  cluster.node('clone').addMember('eu');
  cluster.connect('clone', 'ap');
  cluster.settle(1000);
  cluster.connect('eu', 'ap');
  cluster.settle(3000);
  expect(cluster.node('ap').isConnected('us')).toBe(false);
  cluster.add('clone', 'k', 100n);
  const { silenceMs, nameLeaseMs } = cluster.node('clone').settings;
  cluster.settle(2 * silenceMs);
  expect(cluster.node('clone').ownStarts.isHolding).toBe(true);
  cluster.add('us', 'k', 1000n);
  cluster.settle(1000);
  cluster.kill('us');
  cluster.settle(nameLeaseMs + 1000);
  cluster.connect('clone', 'ap');
  cluster.settle(1000);
  expect(found).toEqual([expect.stringMatching(/^ap: the data of us is older .* that has the counts of both$/)]);
  expect(cluster.value('ap', 'k')).toBe(1001n);
});

function makeStarts(starts: readonly Start[]): OwnStarts {
  const engine = Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    origin: new Uint8Array(32),
    nowMs: START_MS,
    shardCount: SHARDS,
  });
  return new OwnStarts(engine, starts, () => true);
}

test('the base is the earliest start whose gap a peer shows, and without a gap the first that is held', () => {
  const at = (seconds: number): number => versionAt(START_MS + 1000 * seconds);
  const starts: Start[] = [10, 20, 30].map((seconds) => ({
    versions: [at(seconds - 5), at(seconds - 5)],
    nowMs: START_MS + 1000 * seconds,
    isHeld: seconds > 10,
  }));
  const [released, first, second] = starts;
  const shown = (...seconds: number[]) => makeStarts(starts).findProof('us', Float64Array.from(seconds, at), true);
  expect(shown(0, 5)).toBeUndefined();
  expect(shown(15, 15)).toBeUndefined();
  expect(shown(0, 7)?.start).toBe(released);
  expect(shown(0, 16)?.start).toBe(first);
  expect(shown(26, 16)?.start).toBe(first);
  expect(shown(26, 0)?.start).toBe(second);
  // Another process ran at the same time: nothing was sent from here since the first start that is held.
  expect(shown(0, 22)?.start).toBe(first);
  expect(shown(99, 0)?.start).toBe(first);
  expect(shown(0, 7)?.reason).toContain('quotadb repair --new-incarnation');
});
