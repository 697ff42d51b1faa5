import { expect, test } from 'vitest';
import { globMatches } from './glob.js';

const encoder = new TextEncoder();

function matches(pattern: string, text: string): boolean {
  return globMatches(encoder.encode(pattern), encoder.encode(text));
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

test('a hostile pattern takes no more steps than pattern times text', () => {
  let reads = 0;
  const text = new Proxy(encoder.encode('a'.repeat(2000)), {
    get: (target, property) => {
      if (property !== 'length') reads++;
      return Reflect.get(target, property, target);
    },
  });
  const pattern = encoder.encode(`${'*a'.repeat(50)}*b`);
  expect(globMatches(pattern, text)).toBe(false);
  expect(reads).toBeLessThanOrEqual(pattern.length * 2000);
});
