import { expect, test } from 'vitest';
import { bytes, count, duration, microseconds, milliseconds, untilTime } from './format.js';

test('counts are exact while they are short, and compact after that', () => {
  expect([0, 1.25, 9999, 10_000, 1_234_567].map(count)).toEqual(['0', '1.3', '9,999', '10K', '1.2M']);
});

test('sizes have the largest unit that leaves a whole part', () => {
  expect([0, 999, 1000, 12_345, 5e9, 2e15].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1.00 kB',
    '12.3 kB',
    '5.00 GB',
    '2000.0 TB',
  ]);
});

test('times have the unit that people read, and say where none is known', () => {
  expect([-1, 0.5, 3, 250, 61_000].map(milliseconds)).toEqual([
    'not known',
    '0.50 ms',
    '3.0 ms',
    '250 ms',
    '1 min 1 s',
  ]);
  expect([null, 12.4, 2500].map(microseconds)).toEqual(['–', '12 µs', '2.5 ms']);
  expect([0, 59, 3600, 90_000].map(duration)).toEqual(['0 s', '59 s', '1 h', '1 d 1 h']);
});

test('an expiry is shown as the time left, never as one that is negative', () => {
  expect([untilTime(0, 5), untilTime(61_000, 1000), untilTime(1000, 5000)]).toEqual(['never', 'in 1 min', 'in 0 s']);
});
