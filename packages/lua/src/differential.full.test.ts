import { describeWithRedis, freshSeed, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brokenProgram } from './testing/broken-program.js';
import { firstDifference } from './testing/compare.js';
import { randomProgram } from './testing/random-program.js';
import { RedisScripts } from './testing/redis-scripts.js';

const FRESH_SEED = freshSeed(2 ** 30);
const PROGRAMS = 4000;
const SEARCH_TIMEOUT_MS = 300_000;

describeWithRedis('Lua as Redis runs it, at length', () => {
  let server: RedisServer;
  let redis: RedisScripts;
  beforeAll(async () => {
    server = await startRedis();
    redis = new RedisScripts(server.port);
  });
  afterAll(async () => {
    redis?.close();
    await server?.stop();
  });

  test.each([
    ['random programs say the same', randomProgram],
    ['programs with mistakes in their syntax get the same error', brokenProgram],
  ])(
    `%s, from seed ${FRESH_SEED}`,
    async (_, make) => {
      expect(await firstDifference(redis, { from: FRESH_SEED, count: PROGRAMS }, make)).toBeUndefined();
    },
    SEARCH_TIMEOUT_MS,
  );
});
