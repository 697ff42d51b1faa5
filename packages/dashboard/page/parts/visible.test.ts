import { expect, test } from 'vitest';
import { cut, isLong, visibleParts, visibleText } from './visible.js';

test.each([
  ['a right-to-left override', 'user\u202efdp.exe', 'user\\u{202e}fdp.exe'],
  ['isolates', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
  ['marks of direction', 'a\u200e\u200fb\u061c', 'a\\u{200e}\\u{200f}b\\u{61c}'],
  ['zero-width characters', 'ad\u200bmin\ufeff', 'ad\\u{200b}min\\u{feff}'],
  ['controls', 'a\u0000b\u001b[31m\u007f', 'a\\x00b\\x1b[31m\\x7f'],
  ['line ends', 'a\r\n\tb\u2028c', 'a\\r\\n\\tb\\u{2028}c'],
  ['half a surrogate pair', 'a\ud800b', 'a\\u{d800}b'],
  ['spaces that are not the common one', 'a\u00a0b\u3000c d', 'a\\u{a0}b\\u{3000}c d'],
  ['fillers and tags', 'a\u3164b\u{e0041}', 'a\\u{3164}b\\u{e0041}'],
])('%s are shown by their codes', (_, text, expected) => {
  expect(visibleText(text)).toBe(expected);
  expect(visibleParts(text).some(({ isCode }) => isCode)).toBe(true);
});

test.each(['user:42', 'größe', '日本語', 'עברית', '😀', 'a b', '\\n'])(
  'what can be seen stays as it is: %s',
  (text) => {
    expect(visibleParts(text)).toEqual([{ text, isCode: false }]);
  },
);

test('a long name is cut in the middle, by characters', () => {
  const name = `tenant:${'😀'.repeat(50)}:requests`;
  expect(isLong(name)).toBe(true);
  expect([...cut(name)]).toHaveLength(40);
  expect(cut(name)).toMatch(/^tenant:.*….*:requests$/u);
  expect(cut('short')).toBe('short');
});
