import { describeWithRedis, freshSeed, type RedisServer, startRedis } from '@quotadb/wire/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIBRARIES } from './arbitrary-calls.js';
import { differences } from './comparison.js';

const SEED = freshSeed(2 ** 31);
const ROUNDS = 50;
const CALLS_PER_ROUND = 20_000;

describeWithRedis('a million calls of each library, held against a real Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis?.stop();
  });

  test.each(LIBRARIES)('%s: the same results and the same messages', async (_, calls) => {
    for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
      const found = await differences(redis.port, fc.sample(calls, { seed, numRuns: CALLS_PER_ROUND }));
      expect(found, `QUOTADB_FRESH_SEED=${seed.toString(16)}`).toEqual([]);
    }
  });
});
