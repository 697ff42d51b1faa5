import { describeWithRedis, freshSeed } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestClient } from '../testing/index.js';
import { testTransport } from '../testing/index.js';
import {
  arithmeticCombinations,
  expireCombinations,
  getexCombinations,
  patternCombinations,
  setCombinations,
} from './combinations.js';
import { firstDifference, searchDifferences } from './difference-search.js';
import { type Pair, startPair } from './sides.js';
import type { Words } from './words.js';

/** The same seeds every time, and a new one. */
const SEEDS = [1, 2, 3];
const FRESH_SEED = freshSeed(2 ** 31);
/** Where a transport repeats what another has shown, fewer will do. */
const RUNS_PER_SEED = testTransport === 'net' ? 500 : 60;
const SEARCH_TIMEOUT_MS = 120_000;

for (const protocol of [2, 3] as const) {
  describeWithRedis(`the replies of Redis over RESP${protocol}`, () => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await startPair(protocol);
    });
    afterAll(() => pair?.stop());

    test.each([
      ['SET, in every combination of options', setCombinations],
      ['GETEX, in every combination of options', getexCombinations],
      ['EXPIRE and its kin, in every combination of conditions', expireCombinations],
      ['arithmetic at the edges of 64 bits', arithmeticCombinations],
      ['patterns', patternCombinations],
    ])('%s', async (_, commands) => {
      expect(await firstDifference(pair, commands)).toBeUndefined();
    });

    test.each([...SEEDS, FRESH_SEED])(
      'random sequences of commands, seed %i',
      (seed) => searchDifferences(pair, seed, RUNS_PER_SEED),
      SEARCH_TIMEOUT_MS,
    );

    test('a key whose time has come', async () => {
      await firstDifference(pair, [['FLUSHALL']]);
      expect(await firstDifference(pair, [['SET', 'brief', '41', 'PX', '30']])).toBeUndefined();
      await Promise.all([untilNone(pair.redis, ['EXISTS', 'brief']), untilNone(pair.ours, ['EXISTS', 'brief'])]);
      const difference = await firstDifference(pair, [
        ['GET', 'brief'],
        ['TTL', 'brief'],
        ['TYPE', 'brief'],
        ['PERSIST', 'brief'],
        ['EXPIRE', 'brief', '100000'],
        ['DEL', 'brief'],
        ['SCAN', '0', 'COUNT', '1000'],
        ['RANDOMKEY'],
        ['INCR', 'brief'],
        ['TTL', 'brief'],
        ['DEL', 'brief'],
      ]);
      expect(difference).toBeUndefined();
      // DBSIZE counts expired keys until they are dropped, which happens sooner or later.
      await Promise.all([untilNone(pair.redis, ['DBSIZE']), untilNone(pair.ours, ['DBSIZE'])]);
    });
  });
}

/** Asks again and again until the answer is 0. */
async function untilNone(client: TestClient, question: Words): Promise<void> {
  await expect.poll(async () => (await client.send([question]))[0].text, { interval: 10 }).toBe('0');
}
