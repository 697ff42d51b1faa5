import { describeWithRedis, startRedis } from '@quotadb/wire/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeCommand, TestClient, TestLane } from '../testing/index.js';

const PATTERNS = 3000;
const TEXTS = 400;
const SEED = 7;

/** Random words over few letters, so that many of them match. */
function words(unit: string, count: number, maxLength: number): string[] {
  return fc.sample(fc.string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength }), {
    numRuns: count,
    seed: SEED,
  });
}

describeWithRedis('a pattern', () => {
  test('matches the keys that it matches in Redis', async () => {
    const keys = [...new Set(words('aabc]-\\^*?', TEXTS, 8))];
    const patterns = ['*', '**', ...words('aab*?[]^-\\c', PATTERNS, 10), 'a'.repeat(40), '*?'.repeat(40)];
    const session = new TestLane().open();
    const redis = await startRedis();
    try {
      const client = await TestClient.open(redis.port);
      for (const key of keys) session.call('SET', key, 1);
      await client.send(keys.map((key) => ['SET', key, '1']));
      const replies = await client.send(patterns.map((pattern) => ['KEYS', pattern]));
      for (const [index, pattern] of patterns.entries()) {
        const ours = session.send(encodeCommand('KEYS', pattern)).split('\r\n').slice(1, -1);
        const found = ours.filter((_, line) => line % 2 === 1).toSorted();
        expect([pattern, found]).toEqual([pattern, replies[index].children.map(({ text }) => text).toSorted()]);
      }
      client.close();
    } finally {
      await redis.stop();
    }
  });
});
