import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIBRARIES } from './arbitrary-calls.js';
import { differences } from './comparison.js';

const SEED = 20261118;
const CALLS = 3000;

describeWithRedis('the libraries of scripts, held against a real Redis', () => {
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
});
