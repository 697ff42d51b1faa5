import { describe, expect, test } from 'vitest';
import { simulateRates } from './rate-simulation.js';
import type { SimulatedRegion } from './simulated-region.js';

/** Fresh ones at every run. */
const FRESH_SEEDS = 30;
const SEED_SPACE = 2 ** 31;
/** A mistake has to show in so many schedules. */
const SEEDS_FOR_MISTAKES = 300;
const FOUND_AGED_OUT = 80604743;

test('the invariants of global counters hold in a number of fresh schedules', async () => {
  const from = Math.floor(Math.random() * SEED_SPACE);
  const failing: string[] = [];
  let admitted = 0;
  for (let seed = from; seed < from + FRESH_SEEDS; seed++) {
    const outcome = await simulateRates(seed);
    admitted += outcome.admitted;
    if (outcome.failures.length > 0) failing.push(`seed ${seed}: ${outcome.failures[0]}`);
  }
  expect(failing).toEqual([]);
  expect(admitted).toBeGreaterThan(0);
}, 300_000);

test(`seed ${FOUND_AGED_OUT}, which found: a cell was published after it had aged out, as long as it was still kept`, async () => {
  expect((await simulateRates(FOUND_AGED_OUT)).failures).toEqual([]);
});

/** Each breaks one rule in every region. */
const mistakes: Readonly<Record<string, (region: SimulatedRegion) => void>> = {
  'what is withheld stays so when another region speaks of the cell': ({ engine }) => {
    const { publish } = engine.unpublished;
    engine.unpublished.publish = function (shard, record) {
      if (engine.generations.firstForeign(record) === 0) publish.call(this, shard, record);
    };
  },
  'what others counted is told again as one’s own': ({ engine }) => {
    const add = engine.add.bind(engine);
    engine.add = (high, low) => add(high, low + Number(engine.foreignValue()));
  },
  'what is withheld is published though its window has aged out': ({ engine }) => {
    const { add } = engine.unpublished;
    engine.unpublished.add = function (shard, record, high, low, _, expiresAtMs) {
      return add.call(this, shard, record, high, low, expiresAtMs, expiresAtMs);
    };
  },
  'a cell is told of from the first request on': ({ engine }) => {
    Object.defineProperty(engine, 'hasNoComponents', { get: () => false });
  },
  'what is withheld is counted twice when it is published': ({ engine }) => {
    const { add } = engine.unpublished;
    engine.unpublished.add = function (shard, record, high, low, untilMs, expiresAtMs) {
      return add.call(this, shard, record, high, low * 2, untilMs, expiresAtMs);
    };
  },
};

describe('the simulation finds', () => {
  test.each(Object.entries(mistakes))(
    '%s',
    async (_, plant) => {
      const seeds = [FOUND_AGED_OUT, ...Array.from({ length: SEEDS_FOR_MISTAKES }, (_, index) => index + 1)];
      for (const seed of seeds) {
        const { failures } = await simulateRates(seed, plant).catch((error: Error) => ({ failures: [error.message] }));
        if (failures.length > 0) return;
      }
      expect.fail('a mistake was not found');
    },
    300_000,
  );
});
