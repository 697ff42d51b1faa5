import { describeWithRedis, freshSeed } from '@quotadb/wire/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { arbitraryScriptCall } from './arbitrary-scripts.js';
import { firstDifference } from './difference-search.js';
import { type Pair, startPair } from './sides.js';

const KNOWN_SEED = 20261118;
const FRESH_SEED = freshSeed(2 ** 31);
const RUNS = 1500;
const SEARCH_TIMEOUT_MS = 120_000;

describeWithRedis('random scripts on words of KEYS and ARGV', () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(2);
  });
  afterAll(() => pair?.stop());

  test.each([KNOWN_SEED, FRESH_SEED])(
    'get what they get from Redis, seed %i',
    async (seed) => {
      await fc.assert(
        fc.asyncProperty(arbitraryScriptCall, async (script) => {
          const difference = await firstDifference(pair, [['FLUSHALL'], script, ['MGET', 'w:1', 'w:2', '7']]);
          if (difference !== undefined) throw new Error(difference);
        }),
        { seed, numRuns: RUNS, endOnFailure: false },
      );
    },
    SEARCH_TIMEOUT_MS,
  );
});
