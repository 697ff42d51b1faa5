import { expect, test } from 'vitest';
import { CONFLICT_MAX_MS, CONFLICT_MIN_MS, RECONNECT_MAX_MS, RECONNECT_MIN_MS } from './bounds.js';
import { pauseMs } from './pause.js';

test.each([
  ['conflict', CONFLICT_MIN_MS, CONFLICT_MAX_MS],
  ['unreachable', RECONNECT_MIN_MS, RECONNECT_MAX_MS],
] as const)(
  'pauses after a failure (%s) double up to a bound, and half of each is left to chance',
  (failure, first, longest) => {
    const shortest = [0, 1, 2, 1_000].map((failures) => pauseMs(failure, failures, () => 0));
    const most = [0, 1, 2, 1_000].map((failures) => pauseMs(failure, failures, () => 1));
    expect(most).toEqual([first, 2 * first, 4 * first, longest]);
    expect(shortest).toEqual(most.map((pause) => pause / 2));
  },
);
