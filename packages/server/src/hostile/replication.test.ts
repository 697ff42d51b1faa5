import { Batch, ByteInput, versionAt } from '@quotadb/engine';
import { FrameKind } from '@quotadb/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CertifiedRegions, eventually } from '../testing/index.js';

/** A region with a certificate sends components of its own with numbers that would leave the fields of a store. */
const MAXIMUM = Number.MAX_SAFE_INTEGER;
let regions: CertifiedRegions;

beforeEach(async () => {
  regions = await CertifiedRegions.make(['a', 'b']);
});
afterEach(() => regions.close());

interface Hostile {
  readonly what: string;
  readonly change: (batch: Batch) => void;
}
const HOSTILE: readonly Hostile[] = [
  {
    what: 'an expiry setting of version 2^53 - 1',
    change: (batch) => {
      batch.decided[0] = MAXIMUM;
      batch.expiresAtMs[0] = Date.now() + 3_600_000;
    },
  },
  {
    what: 'a floor of 2^53 - 1',
    change: (batch) => {
      batch.floorMs[0] = MAXIMUM;
    },
  },
  {
    what: 'a version of 2^53 - 1',
    change: (batch) => {
      batch.version[0] = MAXIMUM;
      batch.to = MAXIMUM;
    },
  },
  {
    what: 'a watermark of 2^53 - 1',
    change: (batch) => {
      batch.to = MAXIMUM;
    },
  },
];

function batchOf(shardIndex: number, key: string, change: (batch: Batch) => void): Batch {
  const version = versionAt(Date.now());
  const batch = new Batch();
  batch.shardIndex = shardIndex;
  batch.origin = regions.evilOrigin;
  batch.walk = 1;
  batch.count = 1;
  batch.keyBytes.set(Buffer.from(key));
  batch.keyEnd[0] = key.length;
  batch.version[0] = version;
  batch.born[0] = version;
  batch.present[0] = 1;
  batch.positiveLow[0] = 5;
  batch.to = version;
  change(batch);
  return batch;
}

test.each(HOSTILE)('$what harms neither the key, nor replication, nor the next start', async ({ change }) => {
  const a = await regions.start('a');
  const b = await regions.start('b', [{ region: 'a', port: a.port }]);
  await a.client.call('SET', 'k', 41);
  const { store } = a.server.server.engine;
  const shard = store.shardOf(ByteInput.copyOf(Buffer.from('k')), 0, 1);
  const index = Array.from({ length: a.server.server.engine.shardCount }, (_, at) => at).find(
    (at) => store.shardAt(at) === shard,
  ) as number;
  const say = await regions.greet('a', a.port);
  say({ kind: FrameKind.batch, batch: batchOf(index, 'k', change) });
  await eventually(async () =>
    expect(await a.client.call('INFO', 'replication')).toMatch(/evil[^\r]*(ahead=[1-9]|refused)/),
  );
  for (const command of [
    ['PERSIST', 'k'],
    ['EXPIRE', 'k', 1000],
    ['SET', 'k', 41],
    ['EXPIRE', 'k', 1000],
  ])
    await a.client.call(...(command as [string, ...string[]]));
  expect(await a.client.call('INCR', 'k')).toBe(':42\r\n');
  expect(await a.client.call('KEYS', '*')).toBe('*1\r\n$1\r\nk\r\n');
  await eventually(async () => expect(await b.client.call('GET', 'k')).toBe('$2\r\n42\r\n'));
  await a.server.stop();
  const again = await regions.start('a');
  expect(await again.client.call('GET', 'k')).toBe('$2\r\n42\r\n');
  expect(await again.client.call('INCR', 'k')).toBe(':43\r\n');
});
