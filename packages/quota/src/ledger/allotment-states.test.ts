import { expect, test } from 'vitest';
import { AllotmentStates } from './allotment-states.js';

const allotment = (index: number) => ({ policy: 1, window: 7, subject: Uint8Array.of(index) });

test('scans look at every state in turn, drop those that need not be kept, and go on behind the last one', () => {
  const states = new AllotmentStates();
  for (let index = 0; index < 10; index++) states.use(allotment(index), 0);
  const seen: number[] = [];
  const scan = (count: number, isKept: (index: number) => boolean) =>
    states.scan(count, ({ allotment: { subject } }) => {
      seen.push(subject[0]);
      return isKept(subject[0]);
    });
  scan(4, () => true);
  scan(4, (index) => index !== 5);
  states.use(allotment(10), 0);
  scan(3, () => true);
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(states.size).toBe(10);
  scan(100, () => false);
  expect(seen.slice(11).sort((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9, 10]);
  expect(states.size).toBe(0);
  scan(100, () => true);
  states.use(allotment(1), 0);
  scan(1, () => true);
  expect(seen.slice(21)).toEqual([1]);
});
