import { describe, expect, test } from 'vitest';
import { assertFields } from './fields.js';

describe('the fields of a record', () => {
  test('may lie side by side, words and numbers and runs of words', () => {
    assertFields('a record', 8, { next: 0, slots: 4 }, { version: 1 }, { slots: 4 });
  });

  test.each([
    ['two words overlap', () => assertFields('a record', 4, { next: 1, kind: 1 })],
    ['a word lies in a number', () => assertFields('a record', 4, { next: 3 }, { version: 1 })],
    ['a word lies in a run', () => assertFields('a record', 8, { slots: 0, next: 3 }, {}, { slots: 4 })],
    ['a field ends outside of the record', () => assertFields('a record', 3, {}, { version: 1 })],
    ['a high half is not behind its low half', () => assertFields('a record', 4, { sumLow: 1, sumHigh: 0 })],
    ['a low half has no high half', () => assertFields('a record', 4, { low: 1 })],
  ])('are refused at start where %s', (_, declare) => {
    expect(declare).toThrow(/invariant broken/);
  });
});
