import { expect, test } from 'vitest';
import { Backoff, FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from './backoff.js';

test('pauses double up to a bound, and begin anew after a success', () => {
  const backoff = new Backoff(() => 0);
  const pauses = Array.from({ length: 10 }, () => backoff.takePauseMs());
  expect(pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
  expect(pauses.at(-1)).toBe(LONGEST_PAUSE_MS);
  backoff.reset();
  expect(backoff.takePauseMs()).toBe(FIRST_PAUSE_MS);
});

test('chance takes at most half of a pause away', () => {
  const backoff = new Backoff(() => 0.999);
  for (let attempt = 0; attempt < 10; attempt++) expect(backoff.takePauseMs()).toBeGreaterThan(FIRST_PAUSE_MS / 2);
});
