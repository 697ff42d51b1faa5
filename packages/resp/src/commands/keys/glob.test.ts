import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Glob, keyFilter } from './glob.js';

const encoder = new TextEncoder();

function matches(pattern: string, text: string): boolean {
  return new Glob(encoder.encode(pattern)).matches(encoder.encode(text));
}

test.each([
  ['abc', 'abc', true],
  ['abc', 'abcd', false],
  ['abcd', 'abc', false],
  ['a*', 'a', true],
  ['a*c', 'abbbc', true],
  ['a*c', 'abbbd', false],
  ['*a*b*', 'xxaxxbxx', true],
  ['*a*b*', 'xxbxxaxx', false],
  ['**a**', 'a', true],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['?', '', false],
  ['', '', true],
  ['', 'a', false],
  ['**', '', false],
])('%j against %j: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

test.each([
  ['[abc]', 'b', true],
  ['[abc]', 'd', false],
  ['[^abc]', 'd', true],
  ['[^abc]', 'b', false],
  ['[a-c]x', 'bx', true],
  ['[c-a]x', 'bx', true],
  ['[a-c]x', 'dx', false],
  ['[a\\-c]', '-', true],
  ['[a\\-c]', 'b', false],
  ['[\\]]', ']', true],
  ['[]', 'a', false],
  ['[]a]', 'a]', false],
  ['[^]', 'a', true],
  ['[', '[', false],
  ['[^', 'a', true],
  ['[abc', 'b', true],
  ['[abc', 'd', false],
  ['[a-', '-', true],
  ['[!a]', '!', true],
])('the class %j against %j: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

test.each([
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['a\\?c', 'a?c', true],
  ['a\\?c', 'abc', false],
  ['\\[a]', '[a]', true],
  ['\\', '\\', true],
  ['\\\\', '\\', true],
  ['*\\', 'abc\\', true],
])('the escape %j against %j: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

/** What a pattern means, by trying every length for every star: simple, and as slow as can be. */
function meaning(pattern: string, text: string): boolean {
  if (text === '') return pattern === '';
  return isMatch(pattern, text);
}

function isMatch(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] === '*') {
    for (let taken = 0; taken <= text.length; taken++) if (isMatch(pattern.slice(1), text.slice(taken))) return true;
    return false;
  }
  if (text === '') return false;
  const [isTaken, rest] = takeFirst(pattern, text[0]);
  return isTaken && isMatch(rest, text.slice(1));
}

function takeFirst(pattern: string, byte: string): [boolean, string] {
  if (pattern[0] === '?') return [true, pattern.slice(1)];
  if (pattern[0] === '\\' && pattern.length > 1) return [pattern[1] === byte, pattern.slice(2)];
  if (pattern[0] !== '[') return [pattern[0] === byte, pattern.slice(1)];
  const isNegated = pattern[1] === '^';
  let rest = pattern.slice(isNegated ? 2 : 1);
  let isMember = false;
  while (rest !== '' && rest[0] !== ']') {
    if (rest[0] === '\\' && rest.length >= 2) {
      isMember ||= rest[1] === byte;
      rest = rest.slice(2);
    } else if (rest[1] === '-' && rest.length >= 3) {
      const [low, high] = [rest[0], rest[2]].sort();
      isMember ||= byte >= low && byte <= high;
      rest = rest.slice(3);
    } else {
      isMember ||= rest[0] === byte;
      rest = rest.slice(1);
    }
  }
  return [isMember !== isNegated, rest.slice(1)];
}

test('every pattern means what trying all ways to match it says', () => {
  const pattern = fc.string({ unit: fc.constantFrom(...'aab*?[]^-\\c'), maxLength: 12 });
  const text = fc.string({ unit: fc.constantFrom(...'aabc]-\\^'), maxLength: 10 });
  fc.assert(
    fc.property(pattern, text, (glob, word) => {
      expect([glob, word, matches(glob, word)]).toEqual([glob, word, meaning(glob, word)]);
    }),
    { numRuns: 20_000 },
  );
});

test('a pattern longer than a word of states means the same', () => {
  const piece = fc.constantFrom('a', '?', '[ab]', '*', 'aaaaaaaa', 'b'.repeat(31), '\\*');
  const text = fc.array(fc.constantFrom('a', 'b', '*', 'aaaaaaaaaaaaaaaa', 'b'.repeat(31)), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), text, (pieces, words) => {
      // Few stars, or trying all ways takes for ever.
      const glob = pieces.join('').split('*').slice(0, 4).join('*');
      expect([glob, words.join(''), matches(glob, words.join(''))]).toEqual([
        glob,
        words.join(''),
        meaning(glob, words.join('')),
      ]);
    }),
  );
});

test.each([
  ['*a'.repeat(500), 'a'.repeat(2000)],
  [`${'*a'.repeat(500)}*b`, 'a'.repeat(2000)],
  [`*${'a'.repeat(1000)}b`, 'a'.repeat(2000)],
  [`*${'?'.repeat(1000)}b`, 'a'.repeat(2000)],
  [`[${'z'.repeat(1000)}]*`, 'a'.repeat(2000)],
  ['*[^b]'.repeat(200), 'a'.repeat(2000)],
])('the hostile pattern %j reads every byte of the text once at most', (pattern, text) => {
  const glob = new Glob(encoder.encode(pattern));
  let reads = 0;
  const counted = new Proxy(encoder.encode(text), {
    get: (target, property) => {
      if (property !== 'length') reads++;
      return Reflect.get(target, property, target);
    },
  });
  glob.matches(counted);
  expect(reads).toBeLessThanOrEqual(text.length);
  expect(glob.words).toBeLessThanOrEqual(Math.floor(pattern.length / 32) + 1);
});

test('a pattern past the bound is not compiled', () => {
  expect(() => keyFilter(new Uint8Array(Glob.MAXIMUM_BYTES + 1))).toThrow(RangeError);
  expect(keyFilter(encoder.encode('*'))).toBe(undefined);
});
