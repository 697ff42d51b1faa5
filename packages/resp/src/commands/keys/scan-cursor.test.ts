import { expect, test } from 'vitest';
import { parseScanCursor } from './scan-cursor.js';

function parse(text: string): bigint | undefined {
  return parseScanCursor(new TextEncoder().encode(text));
}

test.each([
  ['0', 0n],
  ['', 0n],
  ['007', 7n],
  ['+7', 7n],
  ['7\0abc', 7n],
  ['18446744073709551615', 18446744073709551615n],
  ['-1', 18446744073709551615n],
])('the cursor %j is %s', (text, cursor) => {
  expect(parse(text)).toBe(cursor);
});

test.each([
  'a',
  '1a',
  ' 1',
  '1 ',
  '+',
  '-',
  '--1',
  '1.5',
  '0x1',
  '18446744073709551616',
  '-18446744073709551616',
  '9'.repeat(100),
])('the cursor %j is refused', (text) => {
  expect(parse(text)).toBeUndefined();
});
