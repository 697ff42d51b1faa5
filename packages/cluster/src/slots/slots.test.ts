import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SLOT_COUNT, slotOfText } from './key-slot.js';
import { countSlots, divideRanges, parseRange, printRange, rangesOf, type SlotRange } from './slot-range.js';
import { slotTag } from './slot-tag.js';

describe('the slot of a key', () => {
  // From a stock Redis 7.0: CLUSTER KEYSLOT.
  test.each([
    ['', 0],
    ['123456789', 12739],
    ['foo', 12182],
    ['a{b}c', 3300],
    ['b', 3300],
    ['a{}b', 13694],
    ['{user1000}.following', 3443],
    ['user1000', 3443],
    ['foo{{bar}}zap', 4015],
    ['{bar', 4015],
    ['foo{bar}{zap}', 5061],
    ['bar', 5061],
    ['a{b', 13340],
    ['a}b{c}', 7365],
  ])('%j is in the slot %i, as Redis has it', (key, slot) => {
    expect(slotOfText(key)).toBe(slot);
  });

  test('depends on the hash tag alone where there is one', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), (before, tag, after) => {
        fc.pre(!before.includes('{') && !tag.includes('}') && !tag.includes('{'));
        expect(slotOfText(`${before}{${tag}}${after}`)).toBe(slotOfText(tag));
      }),
    );
  });
});

test('every slot has a short tag', () => {
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    expect(slotOfText(`reservation@eu${slotTag(slot)}`)).toBe(slot);
    expect(slotTag(slot).length).toBeLessThanOrEqual(6);
  }
});

describe('ranges of slots', () => {
  test.each([
    ['0', { first: 0, last: 0 }],
    ['0-16383', { first: 0, last: 16383 }],
    ['16384', undefined],
    ['5-4', undefined],
    ['-1', undefined],
    ['1-', undefined],
    ['x', undefined],
  ])('%j is read as %j', (text, range) => {
    expect(parseRange(text)).toEqual(range);
    if (range !== undefined) expect(printRange(range)).toBe(text);
  });

  const ranges = fc
    .uniqueArray(fc.nat(SLOT_COUNT - 1), { maxLength: 40 })
    .map((slots) => new Set(slots))
    .map((slots): [Set<number>, SlotRange[]] => [slots, rangesOf((slot) => slots.has(slot))]);

  test('hold exactly the slots that they were made of', () => {
    fc.assert(
      fc.property(ranges, ([slots, made]) => {
        expect(new Set(slotsIn(made))).toEqual(slots);
        expect(countSlots(made)).toBe(slots.size);
      }),
    );
  });

  test('are divided without losing or repeating one, into parts whose sizes differ by one at most', () => {
    fc.assert(
      fc.property(ranges, fc.integer({ min: 1, max: 7 }), ([slots, made], parts) => {
        const divided = divideRanges(made, parts);
        expect(divided.length).toBe(parts);
        expect(divided.flatMap(slotsIn)).toEqual([...slots].sort((one, other) => one - other));
        const sizes = divided.map(countSlots);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

function slotsIn(ranges: readonly SlotRange[]): number[] {
  return ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, offset) => first + offset));
}
