import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BucketTemplate, bucketKey } from './bucket-key.js';
import { windowContains, windowEndMs } from './window.js';

const AT_MS = Date.UTC(2025, 10, 15, 23, 59, 58, 999);

test.each([
  ['requests:{customer}:{YYYYMMDDHHmm}', 'requests:42:202511152359', 60_000],
  ['errors:{service}:{YYYYMMDD}', 'errors:api:20251115', 86_400_000],
  ['{YYYYMMDDHH}/{customer}', '2025111523/42', 3_600_000],
  ['s{YYYYMMDDHHmmss}', 's20251115235958', 1_000],
  ['m{YYYYMM}', 'm202511', undefined],
  ['y{YYYY}', 'y2025', undefined],
  ['{YYYYMMDD}-{YYYYMMDDHH}', '20251115-2025111523', 3_600_000],
  ['{customer}', '42', undefined],
])('%s is %s', (template, key, durationMs) => {
  const bucket = new BucketTemplate(template).at(AT_MS, { customer: 42, service: 'api' });
  expect(bucket.key).toBe(key);
  expect(bucket.window?.durationMs).toBe(durationMs);
});

test('two instants have the same key exactly if they are in the same window', () => {
  const instant = fc.integer({ min: Date.UTC(1960, 0, 1), max: Date.UTC(2100, 0, 1) });
  const template = fc.constantFrom('{YYYYMMDD}', '{YYYYMMDDHH}', '{YYYYMMDDHHmm}', '{YYYYMMDDHHmmss}');
  fc.assert(
    fc.property(template, instant, fc.integer({ min: -100_000, max: 100_000 }), (text, atMs, offsetMs) => {
      const bucket = new BucketTemplate(text).at(atMs);
      const other = new BucketTemplate(text).at(atMs + offsetMs);
      expect(bucket.key === other.key).toBe(windowContains(bucket.window!, atMs + offsetMs));
      expect(new BucketTemplate(text).at(windowEndMs(bucket.window!) - 1).key).toBe(bucket.key);
      expect(new BucketTemplate(text).at(windowEndMs(bucket.window!)).key).not.toBe(bucket.key);
    }),
  );
});

test.each(['{', 'a}', '{a{b}}', '{}', '{YYYYMMDDHHMM}', '{YYYY-MM}'])('the template %s is refused', (template) => {
  expect(() => new BucketTemplate(template)).toThrow(SyntaxError);
});

test('a value that is missing is an error, not a part of the key', () => {
  expect(() => bucketKey('{customer}', AT_MS)).toThrow('{customer}');
  expect(() => bucketKey('{toString}', AT_MS)).toThrow('{toString}');
});

test.each([Number.NaN, Date.UTC(10_000, 0, 1), -1e15])('the time %s has no key', (atMs) => {
  expect(() => bucketKey('{YYYY}', atMs)).toThrow(RangeError);
});
