import { describeWithRedis, freshSeed } from '@quotadb/wire/testing';
import { afterAll, beforeAll, test } from 'vitest';
import { searchDifferences } from './difference-search.js';
import { type Pair, startPair } from './sides.js';

const FRESH_SEED = freshSeed(2 ** 31);
const RUNS = 50_000;
const SEARCH_TIMEOUT_MS = 600_000;

for (const protocol of [2, 3] as const) {
  describeWithRedis(`the replies of Redis over RESP${protocol}, at length`, () => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await startPair(protocol);
    });
    afterAll(() => pair?.stop());

    test(
      `random sequences of commands, seed ${FRESH_SEED}`,
      () => searchDifferences(pair, FRESH_SEED, RUNS),
      SEARCH_TIMEOUT_MS,
    );
  });
}
