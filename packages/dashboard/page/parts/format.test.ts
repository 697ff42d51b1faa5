import { expect, test } from 'vitest';
import { bytes, count, duration, exact, microseconds, milliseconds, moment, timeLeft } from './format.js';

test('figures have commas, one decimal while they are small, and a letter once they are long', () => {
  expect([0.04, -0.01, 0.1].map(count)).toEqual(['<0.1', '<0.1', '0.1']);
  expect([0, 1.25, 2, 9999, 123_456, 1_234_567].map(count)).toEqual(['0', '1.3', '2', '9,999', '123,456', '1.23M']);
});

test('the value of a key is exact at any length', () => {
  expect([5, '-1234', '9223372036854775807'].map(exact)).toEqual(['5', '-1,234', '9,223,372,036,854,775,807']);
});

test('sizes are those of the terminal: 1K is 1024 bytes', () => {
  expect([0, 1023, 1024, 1536, 64 * 1024 ** 2, 5 * 1024 ** 3].map(bytes)).toEqual([
    '0B',
    '1023B',
    '1.00K',
    '1.50K',
    '64.00M',
    '5.00G',
  ]);
});

test('times have the unit that people read, three digits, and say where none is known', () => {
  expect([-1, 0, 0.5, 3, 3.14592, 250, 1500, 61_000].map(milliseconds)).toEqual([
    'not known',
    '0 ms',
    '500 µs',
    '3 ms',
    '3.15 ms',
    '250 ms',
    '1.5 s',
    '1m1s',
  ]);
  expect([null, 12.4, 2500].map(microseconds)).toEqual(['–', '12.4 µs', '2.5 ms']);
  expect([0, 59, 3600, 5430, 90_000].map(duration)).toEqual(['0s', '59s', '1h', '1h30m', '1d1h']);
});

test('a moment of another day has the day that its clock belongs to', () => {
  const halfPastMidnight = new Date(2026, 10, 18, 0, 30).getTime();
  expect(moment(halfPastMidnight, halfPastMidnight + 60_000)).toBe('00:30:00');
  expect(moment(halfPastMidnight, halfPastMidnight + 2 * 86_400_000)).toBe('2026-11-18 00:30:00');
  const beforeMidnight = new Date(2026, 10, 18, 23, 30).getTime();
  expect(moment(beforeMidnight, beforeMidnight + 2 * 86_400_000)).toBe('2026-11-18 23:30:00');
});

test('the time that a key has left is never negative', () => {
  expect([timeLeft(0, 5), timeLeft(61_000, 1000), timeLeft(1000, 5000)]).toEqual(['none', '1m', '0s']);
});
