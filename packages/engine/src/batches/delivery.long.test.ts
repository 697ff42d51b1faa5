import { describe, expect, test } from 'vitest';
import { runSchedule } from '../testing/delivery-schedule.js';

/** Seeds behind those of delivery.test.ts. */
const FIRST = 1001;
const LAST = 15_000;

describe('thousands of schedules of loss, doubling, reordering, partition, relay and memory loss', () => {
  test.each([
    { name: 'without expiries: each acknowledged increment counts once on every replica', expiry: false },
    { name: 'with expiries and clocks apart: replicas agree and nothing is lost', expiry: true },
  ])('$name', ({ expiry }) => {
    const failing: string[] = [];
    for (let seed = FIRST; seed <= LAST; seed++) {
      const { failures } = runSchedule(seed, { expiry });
      if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
    }
    expect(failing).toEqual([]);
  });
});
