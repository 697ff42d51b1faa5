import { expect, test } from 'vitest';
import { nearestOf } from './nearest.js';

const NAMES = ['timeout', 'max-memory', 'incr', 'incrby', 'quota.take'];

test.each([
  ['tiemout', 'timeout'],
  ['max-memroy', 'max-memory'],
  ['INCRE', 'incr'],
  ['quota.tak', 'quota.take'],
  ['incrbyy', 'incrby'],
])('%s is most likely meant to be %s', (typed, meant) => {
  expect(nearestOf(typed, NAMES)).toBe(meant);
});

test.each(['', 'x', 'zadd', 'subscribe', 'i'.repeat(1000)])('nothing is near to %j', (typed) => {
  expect(nearestOf(typed, NAMES)).toBeUndefined();
});
