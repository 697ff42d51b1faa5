import { expect, test } from 'vitest';
import { mistakes } from './testing/mistakes.js';
import { QuotaSimulation } from './testing/quota-simulation.js';

/** A search that has not found a mistake by then does not look well enough. */
const SEEDS = 150;

test.each(Object.keys(mistakes))(
  'a schedule shows that %s',
  (name) => {
    const plant = mistakes[name];
    // Short windows, so that many of them begin and end while something is under way.
    const options = name.includes('window') ? { plant, windowMs: 2000 } : { plant };
    for (let seed = 1; seed <= SEEDS; seed++) {
      let isFound = false;
      try {
        isFound = new QuotaSimulation(seed, { ...options, isLossless: false }).run().failures.length > 0;
      } catch {
        // Something was held to be impossible.
        isFound = true;
      }
      if (isFound) return;
    }
    expect.unreachable(`${SEEDS} schedules have not shown it`);
  },
  240_000,
);
