import { expect, test } from 'vitest';
import { TestCluster } from './testing/test-cluster.js';

function makeCluster(regions: readonly string[]): { cluster: TestCluster; refusals: string[] } {
  const refusals: string[] = [];
  const cluster = new TestCluster(regions, {
    events: {
      refused: (link, { code }, by) => {
        if (by === 'here') refusals.push(`${code} ${link.region}`);
      },
    },
  });
  return { cluster, refusals };
}

test('a second server under the name of a region that runs is refused, by name, and takes over when that one is gone', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu']);
  cluster.connect('us', 'eu');
  cluster.settle(2000);
  cluster.make('us', 7, 'second us');
  cluster.connect('second us', 'eu');
  cluster.settle(1000);
  expect(refusals).toEqual(['twin us']);
  cluster.add('us', 'k', 1n);
  cluster.settle(1000);
  expect(cluster.value('eu', 'k')).toBe(1n);
  cluster.kill('us');
  cluster.connect('second us', 'eu');
  cluster.add('second us', 'k', 10n);
  cluster.settle(1000);
  expect(cluster.value('eu', 'k')).toBe(11n);
  expect(refusals).toHaveLength(1);
});

test('so it is where the two have no peer in common, because regions pass on that the first one runs', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
  cluster.connect('us', 'eu');
  cluster.connect('eu', 'ap');
  cluster.settle(5000);
  cluster.make('us', 7, 'second us');
  cluster.connect('second us', 'ap');
  cluster.settle(1000);
  expect(refusals).toEqual(['twin us']);
  cluster.kill('us');
  cluster.settle(cluster.node('eu').settings.nameLeaseMs + 1000);
  cluster.connect('second us', 'ap');
  cluster.settle(1000);
  expect(refusals).toHaveLength(1);
});

test('a server that was killed and comes back as a new incarnation is let in at once', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
  cluster.connectAll();
  cluster.settle(5000);
  cluster.kill('us');
  cluster.make('us', 7);
  cluster.connect('us', 'eu');
  cluster.connect('us', 'ap');
  cluster.settle(1000);
  expect(refusals).toEqual([]);
  expect(cluster.node('eu').isConnected('us')).toBe(true);
});

test('so is one that is killed again and again, though other regions still report its earlier incarnations', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
  cluster.connectAll();
  cluster.settle(5000);
  for (let incarnation = 7; incarnation < 12; incarnation++) {
    cluster.kill('us');
    cluster.make('us', incarnation);
    cluster.connect('us', 'eu');
    cluster.settle(300);
  }
  expect(refusals).toEqual([]);
  expect(cluster.node('eu').isConnected('us')).toBe(true);
});

test('the same process that dials again replaces its link', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu']);
  cluster.connect('us', 'eu');
  cluster.settle(1000);
  cluster.connect('us', 'eu');
  cluster.settle(1000);
  expect(refusals.filter((refusal) => !refusal.startsWith('duplicate'))).toEqual([]);
  expect(cluster.node('eu').isConnected('us')).toBe(true);
});

/** Another process with the same data directory: the same incarnation, another boot number. */
function clone(cluster: TestCluster): void {
  cluster.make('us', 0, 'clone');
}

test.each([
  ['linked with each other', ['eu', 'ap']],
  ['linked through others', ['eu', 'hub', 'hub2', 'ap']],
  ['linked through four, each of which makes the report older', ['eu', 'hub', 'hub2', 'hub3', 'hub4', 'ap']],
])('a clone of a region that runs is refused by a region that only has heard of it, %s', (_, path) => {
  const { cluster, refusals } = makeCluster(['us', ...path]);
  cluster.connect('us', 'eu');
  for (let at = 1; at < path.length; at++) cluster.connect(path[at - 1], path[at]);
  cluster.add('us', 'k', 1n);
  cluster.settle(5000);
  clone(cluster);
  cluster.add('clone', 'k', 100n);
  for (let round = 0; round < 5; round++) {
    cluster.connect('clone', 'ap');
    cluster.settle(3000);
  }
  expect(refusals).toEqual(Array.from({ length: 5 }, () => 'twin us'));
  expect(cluster.value('ap', 'k')).toBe(1n);
  expect(cluster.node('eu').isConnected('us')).toBe(true);
  // The name is free when the first one is gone.
  cluster.kill('us');
  cluster.settle(cluster.node('eu').settings.nameLeaseMs + 1000);
  cluster.connect('clone', 'ap');
  cluster.settle(100);
  expect(refusals.filter((refusal) => refusal.startsWith('twin'))).toHaveLength(5);
});

test('where clones are linked before their peers are, one of the two is refused, and the other stays', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
  cluster.connect('us', 'eu');
  clone(cluster);
  cluster.connect('clone', 'ap');
  cluster.settle(5000);
  expect(refusals).toEqual([]);
  cluster.connect('eu', 'ap');
  cluster.settle(10_000);
  expect(refusals).toEqual(['twin us']);
  expect([cluster.node('eu').isConnected('us'), cluster.node('ap').isConnected('us')]).toEqual([true, false]);
});

test.each([true, false])(
  'so is one of two servers with data of their own that are linked at the same moment',
  (isBefore) => {
    const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
    if (isBefore) cluster.connect('eu', 'ap');
    cluster.make('us', 7, 'second us');
    cluster.connect('us', 'eu');
    cluster.connect('second us', 'ap');
    cluster.settle(isBefore ? 1000 : 5000);
    if (!isBefore) cluster.connect('eu', 'ap');
    cluster.settle(10_000);
    expect(refusals).toEqual(['twin us']);
    expect([cluster.node('eu').isConnected('us'), cluster.node('ap').isConnected('us')].sort()).toEqual([false, true]);
  },
);

test('a server that is killed and started anew from its disk, again and again, is not taken for two', () => {
  const { cluster, refusals } = makeCluster(['us', 'eu', 'ap']);
  cluster.connectAll();
  cluster.settle(5000);
  for (let round = 0; round < 10; round++) {
    cluster.kill('us');
    cluster.settle(50 * round);
    cluster.make('us', 0);
    cluster.connect('us', 'eu');
    cluster.settle(700);
    cluster.connect('us', 'ap');
    cluster.settle(100 + 300 * round);
  }
  expect(refusals).toEqual([]);
  expect(cluster.node('ap').isConnected('us')).toBe(true);
});
