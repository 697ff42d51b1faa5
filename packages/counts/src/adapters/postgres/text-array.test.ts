import { expect, test } from 'vitest';
import { nullableArray, plainArray, textArray } from './text-array.js';

test('texts are quoted wherever PostgreSQL would read something else into them', () => {
  expect(textArray(['item-1', 'a b', 'null', 'NULL', '', 'a,b', '{x}', 'say "hi"', 'back\\slash', 'ü'])).toBe(
    '{item-1,"a b","null","NULL","","a,b","{x}","say \\"hi\\"","back\\\\slash","ü"}',
  );
});

test('numbers, booleans and absent values', () => {
  expect(plainArray([1n, -9223372036854775808n])).toBe('{1,-9223372036854775808}');
  expect(plainArray([true, false])).toBe('{true,false}');
  expect(nullableArray([1n, null])).toBe('{1,NULL}');
});
