import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brokenProgram } from './testing/broken-program.js';
import { firstDifference } from './testing/compare.js';
import { CORPUS } from './testing/corpus.js';
import { normalise, runHere } from './testing/our-side.js';
import { randomProgram } from './testing/random-program.js';
import { RedisScripts } from './testing/redis-scripts.js';

const PROGRAMS = 400;

describeWithRedis('Lua as Redis runs it', () => {
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

  test.each(Object.entries(CORPUS))('%s: the same results and the same errors', async (_, scripts) => {
    for (const script of scripts) {
      expect(`${script} => ${runHere(script)}`).toBe(`${script} => ${normalise(await redis.eval(script))}`);
    }
  });

  test('random programs say the same', async () => {
    expect(await firstDifference(redis, { from: 1, count: PROGRAMS }, randomProgram)).toBeUndefined();
  });

  test('programs with mistakes in their syntax get the same error', async () => {
    expect(await firstDifference(redis, { from: 1, count: PROGRAMS }, brokenProgram)).toBeUndefined();
  });
});
