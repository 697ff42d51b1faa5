import { expect, test } from 'vitest';
import { TestCluster } from './testing/test-cluster.js';

function makeCluster(regions: readonly string[]): { cluster: TestCluster; refusals: string[] } {
  const refusals: string[] = [];
  const cluster = new TestCluster(regions, {
    events: { refused: (link, { code }, by) => refusals.push(`${code} ${link.region} ${by}`) },
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
  expect(refusals).toEqual(['twin us here']);
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
  expect(refusals).toEqual(['twin us here']);
  cluster.kill('us');
  cluster.settle(cluster.node('eu').settings.silenceMs + 1000);
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
