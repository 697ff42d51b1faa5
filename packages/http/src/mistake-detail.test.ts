import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeIssue } from './mistake-detail.js';

const schema = z.object({ limit: z.int().min(0).max(1000), ratio: z.number().optional() });

function mistakeIn(given: unknown): string | undefined {
  const { error } = schema.safeParse(given, { reportInput: true });
  return error?.issues.map((issue) => describeIssue(issue, schema)).join('; ');
}

test('a body that is not there is missing, and not a wrong value', () => {
  expect(mistakeIn(undefined)).toBe('It is missing: give a JSON object');
});

test('an integer past 2^53, which is read exactly, is too large or too small for a number, and not none', () => {
  expect(mistakeIn({ limit: 1000 })).toBeUndefined();
  expect(mistakeIn({ limit: 9_999_999_999_999_999n })).toBe('9999999999999999 is too large: at most 1000');
  expect(mistakeIn({ limit: -9_999_999_999_999_999n })).toBe('-9999999999999999 is too small: at least 0');
  expect(mistakeIn({ limit: 1, ratio: 2n ** 64n })).toBe('18446744073709551616 is too large: at most 9007199254740991');
  expect(mistakeIn({ limit: 'ten' })).toBe('"ten" is not a number');
});
