import { describeWithRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../testing/index.js';
import { differences } from './differences.js';
import { differencesDocument } from './differences-document.js';
import { type Pair, startPair } from './sides.js';
import type { Words } from './words.js';

test('docs/redis-differences.md is what the table says', async () => {
  await expect(`${differencesDocument(differences)}\n`).toMatchFileSnapshot('../../../../docs/redis-differences.md');
});

describeWithRedis('the differences we name', () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(2);
  });
  afterAll(() => pair?.stop());

  const examples = differences.flatMap(({ title, example }) => (example === undefined ? [] : [{ title, ...example }]));
  test.each(examples)('$title', async ({ commands, redis, ours }) => {
    expect(await lastReply(pair.redis, commands)).toBe(redis);
    expect(await lastReply(pair.ours, commands)).toBe(ours);
  });
});

/** The first line of the reply to the last command, on a new connection as it were, to a server without keys. */
async function lastReply(client: TestClient, commands: readonly Words[]): Promise<string> {
  const replies = await client.send([['RESET'], ['FLUSHALL'], ...commands]);
  return replies[replies.length - 1].wire.split('\r\n', 1)[0];
}
