import { expect, test } from 'vitest';
import type { Comparison } from './origin-comparison.js';
import { TestCluster, type TestClusterOptions } from './testing/test-cluster.js';

/** One component in a part, so that a walk can end in its middle. */
const SMALL_PARTS = { shardCount: 1, settings: { partComponents: 1, digestIntervalMs: 60_000 } } as const;

/** Three regions, of which `us` dies. */
function makeCluster(options: TestClusterOptions = SMALL_PARTS) {
  const cluster = new TestCluster(['us', 'eu', 'ap'], options);
  cluster.connectAll();
  cluster.settle();
  const lost = Uint8Array.from(cluster.node('us').identity.origin);
  const compare = (region = 'eu'): Comparison => cluster.node(region).antiEntropy.comparison.compare([lost]);
  return { cluster, compare };
}

/** Of two changes of `us` only the first comes to `ap`, and nothing to `eu`: no watermark has moved. */
function dieWhileSending(cluster: TestCluster): void {
  cluster.disconnect('us', 'eu');
  cluster.add('us', 'one', 5n);
  cluster.add('us', 'other', 7n);
  cluster.pass('us', 'ap', 1);
  cluster.kill('us');
}

test('regions that hold the same of a lost origin agree, and the text of it changes with what they hold', () => {
  const { cluster, compare } = makeCluster();
  cluster.add('us', 'one', 5n);
  cluster.settle();
  cluster.kill('us');
  expect(compare()).toEqual({ held: undefined, unanswered: ['ap'], differing: [] });
  cluster.settle(2000);
  const { held, ...others } = compare();
  expect(others).toEqual({ unanswered: [], differing: [] });
  expect(held).toMatch(/^0:\d+:[0-9a-f]{16}$/);
});

test('a part of a walk that its origin did not live to end is a difference at equal watermarks, until it is repaired', () => {
  const { cluster, compare } = makeCluster();
  dieWhileSending(cluster);
  const lost = cluster.node('eu').origins()[1];
  expect([...cluster.node('eu').seenOf(lost)]).toEqual([...cluster.node('ap').seenOf(lost)]);
  compare();
  cluster.settle(3000);
  expect([cluster.value('eu', 'one'), cluster.value('ap', 'one')]).toEqual([0n, 5n]);
  expect(compare()).toEqual({ held: undefined, unanswered: [], differing: ['ap'] });
  for (let second = 0; second < 300; second++) {
    compare();
    cluster.settle(1000);
  }
  expect(compare()).toMatchObject({ unanswered: [], differing: [] });
  expect([cluster.value('eu', 'one'), cluster.value('ap', 'one')]).toEqual([5n, 5n]);
});

test('a region does not answer while it has a link to the origin', () => {
  const { cluster, compare } = makeCluster();
  cluster.disconnect('us', 'eu');
  compare();
  cluster.settle(3000);
  expect(compare()).toEqual({ held: undefined, unanswered: ['ap'], differing: [] });
  cluster.kill('us');
  cluster.settle(1000);
  expect(compare().held).toBeDefined();
});

test('a region does not answer while something of a process that is silent may come; it closes that link first', () => {
  const { cluster, compare } = makeCluster();
  cluster.kill('us');
  cluster.settle(100);
  const { silenceMs, pingIntervalMs } = cluster.node('ap').settings;
  cluster.make('jp', 7);
  cluster.connect('jp', 'ap');
  cluster.settle(100);
  cluster.freeze('jp');
  compare();
  cluster.settle(silenceMs - 2 * pingIntervalMs);
  expect(compare()).toMatchObject({ unanswered: ['ap'] });
  cluster.settle(3 * pingIntervalMs);
  expect(compare().held).toBeDefined();
});

test('an answer counts as long as all links are those over which the question was asked', () => {
  const { cluster, compare } = makeCluster();
  cluster.kill('us');
  compare();
  cluster.settle(2000);
  expect(compare().held).toBeDefined();
  cluster.disconnect('eu', 'ap');
  cluster.connect('eu', 'ap');
  cluster.settle(100);
  expect(compare()).toEqual({ held: undefined, unanswered: ['ap'], differing: [] });
});

test('questions of a peer are bounded, and those of one that is gone are forgotten', () => {
  const { cluster } = makeCluster();
  const { comparison } = cluster.node('eu').antiEntropy;
  for (let index = 0; index < 300; index++)
    comparison.compare([Uint8Array.from({ length: 32 }, (_, at) => (at < 2 ? (index >> (8 * at)) & 255 : 9))]);
  cluster.pass('eu', 'ap');
  const asked = Reflect.get(cluster.node('ap').antiEntropy.comparison, 'asked') as Map<unknown, Map<string, unknown>>;
  expect([...asked.values()].map(({ size }) => size)).toEqual([256]);
  cluster.disconnect('eu', 'ap');
  expect(asked.size).toBe(0);
  cluster.settle(40_000);
  expect((Reflect.get(comparison, 'questions') as Map<string, unknown>).size).toBe(0);
});
