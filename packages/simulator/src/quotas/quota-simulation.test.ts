import { describe, expect, test } from 'vitest';
import { findFailing, seedsFrom } from '../testing/schedules.js';
import { ADJUSTMENT_MISTAKES } from './adjustment-mistakes.js';
import { measureDemand } from './demand.js';
import { simulateAdjustments, simulateLeases, simulateMembers, simulateQuotas } from './quota-simulation.js';

/** The same at every run; quota-simulation.full.test.ts has fresh ones. */
const FIXED_SEEDS = 12;
const LEASE_SEEDS = 4;
const ADJUSTMENT_SEEDS = 6;
const MEMBER_SEEDS = 8;

/** The defects that these seeds found; those of earlier plans are planted as mistakes. */
const REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [
  [9600132, 'the check asked for tokens of an allotment that an allocator had no memory for'],
  [61000290, 'the check expected a reservation that had lapsed again, because the clock was set back'],
  [266378279, 'tokens of a reservation that ended after the limit was lowered could be spent'],
  [873059412, 'the oracle took a policy that all had forgotten, defined anew within a second, for the same one'],
  [1011, 'tokens on their way to the disk were lost when others came back to the local balance meanwhile'],
  [250174338, 'the check let two regions take at once what was left of a lowered limit: a known gap'],
];

/** The same of schedules with leases. */
const LEASE_REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [
  [7700035, 'the check asked for the share of a region that had left for good'],
  [7700206, 'the same, where that share was all of the limit'],
  [880549, 'the check did not wait for grants on a slow link'],
  [9300148, 'the check took one token at a time after a denial, and gave up before it had them all'],
  [
    9500148,
    'an heir that had lost its data counted the tokens of a lost region before it had heard what that had spent',
  ],
  [1112, 'a renewal that asked for a sooner end let the lease end before it was answered'],
  [9100231, 'the check asked for grants that need longer than the window that they are of'],
];

/** The same of schedules with adjustments. */
const ADJUSTMENT_REGRESSIONS: readonly (readonly [seed: number, found: string])[] = [
  [
    405,
    'a re-mint gave again tokens that a lost region had set aside with a change that only some regions had received',
  ],
  [3038, 'the check re-minted a server that ran, because another one had its name at the home'],
  [267003571, 'the check re-minted a region that was cut off only after the operator had asked'],
];

describe('no limit is ever exceeded, and no token is lost or doubled', () => {
  test('in fixed seeds; a failing one is replayed by `quotadb simulate --quotas --seed S --trace`', async () => {
    expect(await findFailing(simulateQuotas, seedsFrom(1, FIXED_SEEDS))).toEqual([]);
  }, 600_000);

  test.each(REGRESSIONS)('seed %i, which found: %s', async (seed) => {
    expect((await simulateQuotas(seed)).failures).toEqual([]);
  });
});

test('no lease too many is held, and as many as the limit can be once faults end, in every schedule', async () => {
  let acquired = 0;
  let renewed = 0;
  for (const seed of seedsFrom(1, LEASE_SEEDS)) {
    const { failures, trace } = await simulateLeases(seed, { traces: true });
    expect(failures, `seed ${seed}`).toEqual([]);
    acquired += trace.filter((line) => line.includes(' gives the lease ')).length;
    renewed += trace.filter((line) => line.includes(' renews the lease ')).length;
  }
  expect(acquired).toBeGreaterThan(LEASE_SEEDS);
  expect(renewed).toBeGreaterThan(LEASE_SEEDS);
}, 600_000);

test.each(LEASE_REGRESSIONS)('seed %i of leases, which found: %s', async (seed) => {
  expect((await simulateLeases(seed)).failures).toEqual([]);
});

test('no limit in force is exceeded where overrides, extras, refunds and windows of the calendar come and go', async () => {
  const seen = { extra: 0, refund: 0, calendar: 0, admitting: 0 };
  for (const seed of seedsFrom(1, ADJUSTMENT_SEEDS)) {
    const { failures, trace, plan } = await simulateAdjustments(seed, { traces: true });
    expect(failures, `seed ${seed}`).toEqual([]);
    seen.extra += trace.filter((line) => line.includes(' extra for ')).length;
    seen.refund += trace.filter((line) => / refunds [1-9]/.test(line)).length;
    if (plan.calendar !== undefined) seen.calendar++;
    if (plan.admitFraction !== undefined) seen.admitting++;
  }
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
}, 600_000);

test.each(ADJUSTMENT_REGRESSIONS)('seed %i of adjustments, which found: %s', async (seed) => {
  expect((await simulateAdjustments(seed)).failures).toEqual([]);
});

test('seed 900252 of adjustments fails where a re-mint compares watermarks alone', async () => {
  const planted = ADJUSTMENT_MISTAKES.find(({ name }) => name.includes('compares the watermarks'));
  expect((await simulateAdjustments(900252, planted)).failures).not.toEqual([]);
});

test('no limit is exceeded where members of a region die, join and come back', async () => {
  let agreed = 0;
  for (const seed of seedsFrom(1, MEMBER_SEEDS)) {
    const { failures, trace } = await simulateMembers(seed, { traces: true });
    expect(failures, `seed ${seed}`).toEqual([]);
    agreed += trace.filter((line) => line.includes(' divides tokens ') && !line.includes('(proposed)')).length;
  }
  expect(agreed).toBeGreaterThan(MEMBER_SEEDS);
}, 600_000);

test('a seed is a schedule: the same trace every time, with answers to clients in it', async () => {
  let allowed = 0;
  for (const seed of [1, 2, 3]) {
    const [one, other] = [await simulateQuotas(seed, { traces: true }), await simulateQuotas(seed, { traces: true })];
    allowed += one.trace.filter((line) => line.includes(' allows ')).length;
    expect(other.trace).toEqual(one.trace);
  }
  expect(allowed).toBeGreaterThan(10);
});

test('all of a small limit and 99 % of a large one can be had in three regions', async () => {
  const had = async (limit: number) =>
    (await measureDemand({ limiter: 'quota', demand: 'uniform', regions: 3, limit, seed: 3 })).admitted;
  expect(await had(100)).toBe(100);
  expect(await had(10_000)).toBeGreaterThanOrEqual(9900);
}, 240_000);
