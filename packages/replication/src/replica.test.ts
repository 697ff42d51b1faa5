import type { Batch } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { TestCluster } from './testing/test-cluster.js';

test('an increment anywhere is counted everywhere, once', () => {
  const cluster = new TestCluster(['us', 'eu', 'ap']);
  cluster.connectAll();
  cluster.add('us', 'k', 3n);
  cluster.add('eu', 'k', 4n);
  cluster.add('ap', 'other', 1n);
  cluster.settle();
  for (const region of ['us', 'eu', 'ap']) {
    expect(cluster.value(region, 'k')).toBe(7n);
    expect(cluster.value(region, 'other')).toBe(1n);
  }
});

test('a hub passes on what its spokes count, and that something is gone', () => {
  const cluster = new TestCluster(['hub', 'a', 'b']);
  cluster.connect('a', 'hub');
  cluster.connect('b', 'hub');
  cluster.add('a', 'k', 3n);
  cluster.settle();
  expect(cluster.value('b', 'k')).toBe(3n);
  cluster.remove('a', 'k');
  cluster.settle();
  expect(cluster.value('b', 'k')).toBe(0n);
  for (const region of ['hub', 'a', 'b']) expect(cluster.node(region).engine.stats().removedKeysRetained).toBe(0);
});

test('a chain of four passes changes along in both directions', () => {
  const cluster = new TestCluster(['a', 'b', 'c', 'd']);
  cluster.connect('a', 'b');
  cluster.connect('b', 'c');
  cluster.connect('c', 'd');
  cluster.add('a', 'k', 1n);
  cluster.add('d', 'k', 2n);
  cluster.settle();
  for (const region of ['a', 'b', 'c', 'd']) expect(cluster.value(region, 'k')).toBe(3n);
});

test('what only one of the survivors had received of a dead origin reaches the others', () => {
  const cluster = new TestCluster(['us', 'eu', 'ap']);
  cluster.connectAll();
  cluster.settle();
  cluster.disconnect('us', 'ap');
  cluster.add('us', 'k', 5n);
  cluster.pass('us', 'eu');
  cluster.kill('us');
  cluster.settle();
  expect(cluster.value('ap', 'k')).toBe(5n);
});

test('no change is sent before the own disk holds it', () => {
  const durable = new Float64Array(64);
  const cluster = new TestCluster(['us', 'eu'], { durable: { us: (shard) => durable[shard] } });
  cluster.connectAll();
  cluster.add('us', 'k', 5n);
  cluster.settle();
  expect(cluster.value('eu', 'k')).toBe(0n);
  for (let shard = 0; shard < 64; shard++) durable[shard] = cluster.node('us').engine.seen(shard, 0);
  cluster.settle();
  expect(cluster.value('eu', 'k')).toBe(5n);
});

test('a difference that a defect has caused is found and repaired, and both sides report it', () => {
  const said: string[] = [];
  const cluster = new TestCluster(['us', 'eu'], {
    events: {
      mismatch: (link, _, shard) => said.push(`differs from ${link.region} in ${shard}`),
      repaired: (link, _, shard, tookMs) =>
        said.push(`same as ${link.region} in ${shard} again${tookMs > 0 ? '' : '!'}`),
    },
  });
  const { merge } = cluster.node('eu');
  const apply = merge.apply.bind(merge);
  let isLost = false;
  Object.assign(merge, {
    apply(batch: Batch) {
      // The watermark moves as if everything had come.
      if (!isLost && batch.count > 0) batch.count = 0;
      isLost ||= batch.count === 0 && batch.reached > 0;
      return apply(batch);
    },
  });
  cluster.connectAll();
  cluster.add('us', 'k', 5n);
  cluster.settle(200);
  expect(cluster.value('eu', 'k')).toBe(0n);
  cluster.settle(60_000);
  expect(cluster.value('eu', 'k')).toBe(5n);
  const shard = said[0].split(' ').at(-1);
  expect(new Set(said)).toContain(`differs from us in ${shard}`);
  expect(said.at(-1)).toMatch(new RegExp(`^same as (us|eu) in ${shard} again$`));
});

test('a sender gets its acknowledgement at once, and other peers with the next full report', () => {
  const cluster = new TestCluster(['us', 'eu', 'ap'], {
    settings: { statusIntervalMs: 3000, idleStatusIntervalMs: 3000 },
  });
  cluster.connectAll();
  cluster.settle(5000);
  cluster.add('us', 'key', 1n);
  cluster.pass('us', 'eu');
  const us = cluster.node('us');
  const own = [...us.seenOf(us.ownName)];
  const knows = (region: string): boolean =>
    own.every((version, shard) => (cluster.node(region).members.get('eu')?.seen.of(us.ownName)[shard] ?? 0) >= version);
  cluster.pass('eu', 'us');
  cluster.pass('eu', 'ap');
  expect([knows('us'), knows('ap')]).toEqual([true, false]);
  for (let ticks = 0; ticks < 120; ticks++) cluster.pass('eu', 'ap');
  expect(knows('ap')).toBe(true);
});

test('changes that wait for the disk are sent as they were encoded, whatever is encoded meanwhile', () => {
  const durable = new Float64Array(64);
  const cluster = new TestCluster(['us', 'eu'], { durable: { us: (shard) => durable[shard] } });
  cluster.connectAll();
  cluster.settle();
  for (let key = 0; key < 100; key++) {
    cluster.add('us', `key-${key}`, BigInt(key + 1));
    cluster.node('us').prepareOwnChanges();
  }
  durable.fill(Number.POSITIVE_INFINITY);
  cluster.pass('us', 'eu');
  for (let key = 0; key < 100; key++) expect(cluster.value('eu', `key-${key}`)).toBe(BigInt(key + 1));
});

test('so is the rest of a walk that meets a change which is not on the disk yet', () => {
  let durable = Number.POSITIVE_INFINITY;
  const settings = { partComponents: 2, tickBytes: 1 };
  const cluster = new TestCluster(['us', 'eu', 'ap'], { durable: { us: () => durable }, settings, shardCount: 1 });
  cluster.connect('us', 'eu');
  cluster.connect('us', 'ap');
  cluster.add('ap', 'of ap', 1n);
  cluster.settle();
  for (const key of ['a', 'b', 'c']) cluster.add('us', key, 5n);
  durable = cluster.node('us').engine.seen(0, 0);
  cluster.pass('us', 'eu');
  cluster.add('us', 'd', 5n);
  cluster.pass('us', 'eu');
  expect(cluster.value('eu', 'c')).toBe(0n);
  cluster.add('ap', 'of ap', 6n);
  cluster.pass('ap', 'us');
  cluster.pass('us', 'eu');
  expect(cluster.value('eu', 'of ap')).toBe(7n);
  durable = Number.POSITIVE_INFINITY;
  cluster.pass('us', 'eu');
  expect(['a', 'b', 'c', 'd'].map((key) => cluster.value('eu', key))).toEqual([5n, 5n, 5n, 5n]);
});
