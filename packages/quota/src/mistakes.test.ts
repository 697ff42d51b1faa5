import { expect, test } from 'vitest';
import { mistakes } from './testing/mistakes.js';
import { QuotaSimulation } from './testing/quota-simulation.js';

/** A search that has not found a mistake by then does not look well enough. */
const SEEDS = 150;
/** Where to look first, where it is not among the first few; if it is not found there any more, everywhere. */
const FOUND_BY: Readonly<Record<string, number>> = { 'a grant is told before the disk has it': 64 };

test.each(Object.keys(mistakes))(
  'a schedule shows that %s',
  (name) => {
    const plant = mistakes[name];
    // Short windows, so that many of them begin and end while something is under way.
    const options = name.includes('window') ? { plant, windowMs: 2000 } : { plant };
    for (const seed of [FOUND_BY[name] ?? 1, ...Array.from({ length: SEEDS }, (_, index) => index + 1)]) {
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
