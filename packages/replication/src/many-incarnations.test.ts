import { MAX_ORIGINS, MAX_ORIGINS_OF_REPLICA } from '@quotadb/engine';
import { checkConsistency } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { restart, restartMany } from './testing/many-incarnations.js';
import { TestCluster } from './testing/test-cluster.js';

test('a region in memory comes back again and again: counts that expire make room, and all are heard throughout', () => {
  restartMany(MAX_ORIGINS_OF_REPLICA + 50);
});

test('a region with too many incarnations whose counts are held is refused by name; others are heard', () => {
  const refused: string[] = [];
  const cluster = new TestCluster(['us', 'eu', 'ap'], {
    shardCount: 1,
    events: {
      refused: (link, { code, message }, by) => {
        if (by === 'here') refused.push(`${link.region} ${code}: ${message}`);
      },
    },
  });
  cluster.connect('us', 'eu');
  for (let incarnation = 1; incarnation <= 600; incarnation++) {
    restart(cluster, incarnation);
    cluster.add('us', 'k', 1n);
    cluster.settle(20);
  }
  expect(cluster.value('eu', 'k')).toBe(BigInt(MAX_ORIGINS_OF_REPLICA));
  expect(refused[0]).toMatch(/^us origins: eu cannot take in this incarnation of us: it has come back as 256 /);
  expect(cluster.node('eu').engine.origins.count).toBeLessThan(MAX_ORIGINS);
  cluster.connect('ap', 'eu');
  cluster.add('ap', 'k', 1000n);
  cluster.settle(1000);
  expect(cluster.value('eu', 'k')).toBe(BigInt(MAX_ORIGINS_OF_REPLICA) + 1000n);
  checkConsistency(cluster.node('eu').engine);
});
