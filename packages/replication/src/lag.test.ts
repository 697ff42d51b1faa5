import { expect, test } from 'vitest';
import { lagMs, shardLagMs } from './lag.js';
import { OwnHistory } from './own-history.js';
import { TestCluster } from './testing/test-cluster.js';

function lagOf(cluster: TestCluster): number | undefined {
  const us = cluster.node('us');
  const member = us.members.get('eu');
  return member && lagMs(us, member);
}

test('an idle peer in step has the lag of a round trip, however long ago the last change was', () => {
  const cluster = new TestCluster(['us', 'eu']);
  cluster.connectAll();
  cluster.add('us', 'k', 1n);
  cluster.settle(60_000);
  expect(lagOf(cluster)).toBeLessThanOrEqual(10);
  // A change after the idle minute has waited since it was made, and its shard has not been idle for the lag.
  cluster.add('us', 'k', 1n);
  expect(lagOf(cluster)).toBeLessThanOrEqual(10);
});

test('the lag of a peer that is cut off grows without a step back, with changes or none, also when its link ends', () => {
  for (const isChanging of [false, true]) {
    const cluster = new TestCluster(['us', 'eu']);
    const { queues } = cluster.connect('us', 'eu');
    cluster.settle(5000);
    const cutAtMs = cluster.nowMs;
    let last = 0;
    for (let passed = 0; passed < 20_000; passed += 10) {
      cluster.nowMs += 10;
      if (isChanging) cluster.add('us', `k${passed % 70}`, 1n);
      cluster.node('us').tick();
      for (const queue of queues) queue.length = 0;
      const lag = lagOf(cluster) as number;
      // A ping waits for up to a second less than the link has been silent.
      expect(lag).toBeGreaterThanOrEqual(last);
      last = lag;
    }
    expect(last).toBeGreaterThanOrEqual(cluster.nowMs - cutAtMs - 1000);
    expect(last).toBeLessThan((cluster.nowMs - cutAtMs) * 1.5);
    expect(cluster.node('us').isConnected('eu')).toBe(false);
  }
});

test('counts are on their way for as long as they may be kept and a round trip, and for 0 ms while no peer is there', () => {
  const cluster = new TestCluster(['us', 'eu'], { settings: { sendWithinMs: 30 } });
  const us = cluster.node('us');
  us.tick();
  expect(us.engine.countDelayMs).toBe(0);
  const { queues } = cluster.connect('us', 'eu');
  cluster.settle(5000);
  const member = us.members.get('eu');
  const roundTripMs = member?.link?.figures.roundTripMs as number;
  expect(roundTripMs).toBeGreaterThanOrEqual(0);
  expect(us.engine.countDelayMs).toBe(Math.ceil(30 + roundTripMs));
  for (let passed = 0; passed < 20_000; passed += 100) {
    cluster.nowMs += 100;
    us.tick();
    for (const queue of queues) queue.length = 0;
  }
  expect(us.isConnected('eu')).toBe(false);
  expect(us.engine.countDelayMs).toBe(0);
});

test('a peer of which only an earlier process knew the position has no lag, in figures', () => {
  const cluster = new TestCluster(['us', 'eu']);
  cluster.add('us', 'k', 1n);
  const us = cluster.node('us');
  us.tick();
  us.addMember('eu');
  expect(lagOf(cluster)).toBeUndefined();
  const member = us.members.get('eu');
  const shards = Array.from({ length: 64 }, (_, shard) => member && shardLagMs(us, member, shard));
  expect(shards.filter((lag) => lag === undefined)).toHaveLength(1);
});

test('a time found in the history is too early by half of its age at most, over ten days of changes', () => {
  const history = new OwnHistory();
  const lastMs = 10 * 24 * 3600 * 1000;
  const madeAtMs: number[] = [];
  for (let nowMs = 0; nowMs < lastMs; nowMs += nowMs > lastMs - 60_000 ? 5 : 997) {
    history.note([madeAtMs.length], nowMs);
    madeAtMs.push(nowMs);
  }
  for (let version = madeAtMs.length - 2, step = 1; version > 0; version -= step, step += step) {
    const foundMs = lastMs - (history.heldUntil(0, version) ?? 0);
    expect(foundMs).toBeGreaterThanOrEqual(lastMs - madeAtMs[version]);
    expect(foundMs).toBeLessThan((lastMs - madeAtMs[version + 1]) * 1.6 + 10);
  }
});
