import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { normalise, runHere } from '../testing/our-side.js';
import { RedisScripts } from '../testing/redis-scripts.js';
import { CASES } from './cases.js';

const SHOW = `local function show(...)
  local texts = {}
  for i = 1, select('#', ...) do
    local value = (select(i, ...))
    if type(value) == 'string' then texts[i] = string.format('%q', value)
    else texts[i] = type(value) == 'table' and 'table' or tostring(value) end
  end
  return table.concat(texts, ' ')
end `.replaceAll('\n', ' ');

function script(call: string): string {
  return `${SHOW}return show(${call})`;
}

/** Where the error was is the same for all, but for one that a library calls directly. */
function withoutPlace(reply: string): string {
  return reply.replace(/ script: SHA, on .*$/, '');
}

describe.each(Object.entries(CASES))('%s', (_, cases) => {
  test.each(cases)('%s', (call, answer) => {
    expect(withoutPlace(runHere(script(call)))).toBe(answer);
  });
});

describeWithRedis('the table of answers', () => {
  let redis: RedisServer;
  let scripts: RedisScripts;
  beforeAll(async () => {
    redis = await startRedis();
    scripts = new RedisScripts(redis.port);
  });
  afterAll(async () => {
    scripts?.close();
    await redis?.stop();
  });

  test('is what Redis answers', async () => {
    const all = Object.values(CASES).flat();
    const answers = await Promise.all(
      all.map(async ([call]) => [call, withoutPlace(normalise(await scripts.eval(script(call))))]),
    );
    expect(answers).toEqual(all);
  });
});
