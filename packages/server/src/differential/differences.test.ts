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

  test('every command of Redis that is missing here is named, or belongs to a type that is', async () => {
    const named = differences.map(({ redis, ours }) => `${redis} ${ours}`).join(' ');
    const isNamed = (command: string) => new RegExp(`\\b${command}\\b`, 'i').test(named);
    const known = new Set(await commandsOf(pair.ours));
    for (const category of ABSENT_CATEGORIES) {
      for (const command of await commandsOf(pair.redis, 'FILTERBY', 'ACLCAT', category)) known.add(command);
    }
    const unnamed = (await commandsOf(pair.redis)).filter((command) => !known.has(command) && !isNamed(command));
    expect(unnamed).toEqual([]);
  });
});

/** Redis's categories of commands for types and features that QuotaDB lacks as a whole. */
const ABSENT_CATEGORIES = 'list set hash sortedset stream geo hyperloglog bitmap pubsub blocking'.split(' ');

/** The names of a server's commands, without subcommands. */
async function commandsOf(client: TestClient, ...filter: string[]): Promise<string[]> {
  const [{ wire }] = await client.send([['COMMAND', 'LIST', ...filter]]);
  return wire
    .split('\r\n')
    .filter((line) => /^[a-z]/.test(line))
    .map((name) => name.split('|')[0]);
}

/** The first line of the reply to the last command, on a new connection as it were, to a server without keys. */
async function lastReply(client: TestClient, commands: readonly Words[]): Promise<string> {
  const replies = await client.send([['RESET'], ['FLUSHALL'], ...commands]);
  return replies[replies.length - 1].wire.split('\r\n', 1)[0];
}
