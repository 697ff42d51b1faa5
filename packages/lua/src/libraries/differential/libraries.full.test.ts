import { describeWithRedis, freshSeed, type RedisServer, startRedis } from '@quotadb/wire/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIBRARIES } from './arbitrary-calls.js';
import { differences } from './comparison.js';

/** Another seed in each run; a difference names it. */
const SEED = freshSeed(2 ** 31);
const CALLS = 20_000;

describeWithRedis(
  `the libraries of scripts, held against a real Redis (QUOTADB_FRESH_SEED=${SEED.toString(16)})`,
  () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(async () => {
      await redis?.stop();
    });

    test.each(LIBRARIES)('%s: the same results and the same messages', async (_, calls) => {
      expect(await differences(redis.port, fc.sample(calls, { seed: SEED, numRuns: CALLS }))).toEqual([]);
    });
  },
);
