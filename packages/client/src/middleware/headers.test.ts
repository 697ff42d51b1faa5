import { expect, test } from 'vitest';
import type { LimitResult } from '../limiter/limit-result.js';
import { rateLimitHeaders } from './headers.js';

const NOW_MS = 1_000_000;
const policy = { name: 'default', limit: 100, windowMs: 60_000 };
const result: LimitResult = {
  success: true,
  limit: 100,
  remaining: 42,
  reset: NOW_MS + 16_001,
  retryAfterMs: 0,
  reason: 'within',
};

test('the policy, the remaining amount, and its seconds until the reset, rounded up', () => {
  expect(rateLimitHeaders(policy, result, NOW_MS)).toEqual({
    'RateLimit-Policy': '"default";q=100;w=60',
    RateLimit: '"default";r=42;t=17',
  });
});

test('a refusal says when to try again, at least a second later', () => {
  const denied = { ...result, success: false, remaining: 0, reason: 'limited' } as const;
  expect(rateLimitHeaders(policy, { ...denied, retryAfterMs: 2_500 }, NOW_MS)['Retry-After']).toBe('3');
  expect(rateLimitHeaders(policy, { ...denied, retryAfterMs: 3 }, NOW_MS)['Retry-After']).toBe('1');
  expect(rateLimitHeaders(policy, { ...denied, retryAfterMs: 0 }, NOW_MS)['Retry-After']).toBe('1');
});

test('where it is no use to try again, nothing is said about it', () => {
  const never = { ...result, success: false, retryAfterMs: -1, reason: 'limited' } as const;
  expect(rateLimitHeaders(policy, never, NOW_MS)).not.toHaveProperty('Retry-After');
});

test('names are strings of structured fields: quoted, escaped, ASCII', () => {
  const named = (name: string) => rateLimitHeaders({ ...policy, name }, result, NOW_MS).RateLimit;
  expect(named('per "user"\\day')).toBe('"per \\"user\\"\\\\day";r=42;t=17');
  expect(() => named('tägl')).toThrow(RangeError);
  expect(() => named('a\r\nb')).toThrow(RangeError);
});

test('integers of structured fields have at most fifteen digits, and windows under a second are one', () => {
  const large = { name: 'x', limit: Number.MAX_SAFE_INTEGER, windowMs: 1 };
  expect(rateLimitHeaders(large, { ...result, reset: NOW_MS - 5 }, NOW_MS)).toMatchObject({
    'RateLimit-Policy': '"x";q=999999999999999;w=1',
    RateLimit: '"x";r=42;t=0',
  });
});

test('a limit that holds for ever has no window and no end', () => {
  const forever = { ...policy, windowMs: 0 };
  expect(rateLimitHeaders(forever, { ...result, reset: Number.POSITIVE_INFINITY }, NOW_MS)).toEqual({
    'RateLimit-Policy': '"default";q=100',
    RateLimit: '"default";r=42',
  });
});
