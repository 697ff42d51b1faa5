import { describeWithRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { differingReplies } from './difference-search.js';
import { calls, conversions, failures, forbidden, library, limiters, numbers } from './script-cases.js';
import { textCases } from './script-text-cases.js';
import { wordCases } from './script-words-cases.js';
import { type Pair, startPair } from './sides.js';

for (const protocol of [2, 3] as const) {
  describeWithRedis(`scripts get what they get from Redis over RESP${protocol}`, () => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await startPair(protocol);
    });
    afterAll(() => pair?.stop());

    test.each([
      ['what a script returns', conversions],
      ['the table redis', library],
      ['errors, with script and line', failures],
      ['flags, digests and commands that are not allowed', forbidden],
      ['commands, called from scripts', calls],
      ['numbers as arguments', numbers],
      ['scripts of deployed limiters', limiters],
      ['KEYS and ARGV', wordCases],
      ['texts as C cuts them, and chunks made by scripts', textCases],
    ])('%s', async (_, commands) => {
      expect(await differingReplies(pair, commands)).toEqual([]);
    });
  });
}
