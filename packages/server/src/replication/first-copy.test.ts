import { expect, test } from 'vitest';
import { FirstCopy } from './first-copy.js';

const away = { isLinked: false, isInStep: false, isInTrouble: false };
const behind = { ...away, isLinked: true };
const copied = { ...behind, isInStep: true };

test('a first copy runs until all members that are linked are copied, and never again', () => {
  const copy = new FirstCopy(true);
  expect(copy.isRunning([away, away])).toBe(true);
  expect(copy.isRunning([away, behind])).toBe(true);
  expect(copy.isRunning([copied, behind])).toBe(true);
  expect(copy.isRunning([copied, copied])).toBe(false);
  // One of them has started without data itself, and has some by now.
  expect(copy.isRunning([copied, behind])).toBe(false);
});

test('no first copy runs where there is data, and none waits for a member in trouble', () => {
  expect(new FirstCopy(false).isRunning([behind])).toBe(false);
  expect(new FirstCopy(true).isRunning([{ ...behind, isInTrouble: true }])).toBe(false);
});
