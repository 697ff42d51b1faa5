import { expect, test } from 'vitest';
import { readLimitText, writeLimitField } from './limit-text.js';

const TEXT = JSON.stringify({ kind: 'exact', limit: 10, window: '1m', overrides: [{ subject: 'acme', limit: 50 }] });
const after = (...writes: Parameters<typeof writeLimitField> extends [string, ...infer Rest] ? Rest[] : never) =>
  JSON.parse(writes.reduce((text, [field, words]) => writeLimitField(text, field, words), TEXT));

test('a field of the form is written into the text, and what the form does not know stays', () => {
  expect(after(['limit', '25'], ['parent', 'org'], ['window', ' 1h '])).toEqual({
    ...JSON.parse(TEXT),
    limit: 25,
    window: '1h',
    parent: 'org',
  });
  expect(after(['limit', 'unlimited']).limit).toBe('unlimited');
  expect(after(['parent', 'org'], ['parent', ''])).toEqual(JSON.parse(TEXT));
});

test('another kind has its own fields, and none of the former one', () => {
  expect(after(['kind', 'concurrency'])).toEqual({
    kind: 'concurrency',
    limit: 10,
    hold: '30s',
    overrides: expect.anything(),
  });
  expect(after(['kind', 'bucket'], ['burst', '5'], ['kind', 'sliding'])).toMatchObject({
    kind: 'sliding',
    window: '1m',
  });
  expect(after(['kind', 'bucket'], ['burst', '5'], ['kind', 'sliding'])).not.toHaveProperty('burst');
});

test.each(['', '{', '[1]', '7', 'null'])('a text that is no limit, %j, is left as it is', (text) => {
  expect([readLimitText(text), writeLimitField(text, 'limit', '5')]).toEqual([undefined, text]);
});
