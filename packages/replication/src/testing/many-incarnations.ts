import { MAX_ORIGINS_OF_REPLICA } from '@quotadb/engine';
import { checkConsistency } from '@quotadb/engine/testing';
import { expect } from 'vitest';
import { TestCluster } from './test-cluster.js';

/** `us` dies, and comes back without its memory. */
export function restart(cluster: TestCluster, incarnation: number): void {
  cluster.kill('us');
  cluster.make('us', incarnation);
  cluster.connect('us', 'eu');
}

const regions = ['us', 'eu', 'ap'];

/** A region without a disk restarts again and again; most of its counts expire, some stay; a third region counts. */
export function restartMany(restarts: number): void {
  const cluster = new TestCluster(regions, { shardCount: 1, settings: { statusIntervalMs: 40 } });
  cluster.connect('us', 'eu');
  cluster.connect('ap', 'eu');
  cluster.settle(100);
  let kept = 0n;
  for (let incarnation = 1; incarnation <= restarts; incarnation++) {
    restart(cluster, incarnation);
    const key = `short-${incarnation % 7}`;
    cluster.add('us', key, 1n);
    cluster.withKey('us', key, (engine) => engine.expireAt(cluster.nowMs + 40));
    const isKept = incarnation % 50 === 0;
    if (isKept) for (const region of ['us', 'ap']) cluster.add(region, 'kept', 10n);
    cluster.settle(isKept ? 300 : 30);
    if (isKept) kept += 20n;
    if (isKept) for (const region of regions) expect(cluster.value(region, 'kept')).toBe(kept);
    for (const region of regions) cluster.node(region).engine.expireSome(1000);
  }
  cluster.settle(3000);
  for (const region of regions) {
    const { engine } = cluster.node(region);
    engine.expireSome(10_000);
    expect(cluster.value(region, 'kept'), region).toBe(kept);
    expect(engine.keyCount(), region).toBe(1);
    expect(engine.origins.count, region).toBeLessThanOrEqual(2 + MAX_ORIGINS_OF_REPLICA);
    checkConsistency(engine);
  }
}
