import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Change, valueAfter } from '../../domain/change.js';
import { INT64_MAX, INT64_MIN } from '../../domain/int64.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import { pendingChange } from '../../testing/pending-change.js';
import { Run, runLength } from './run.js';

const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.bigInt({ min: -5n, max: 5n }),
  fc.constantFrom(INT64_MIN, INT64_MAX),
);
const amount = int64.map((value) => (value === INT64_MIN ? INT64_MIN + 1n : value));
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: amount.map((value): Change => ({ kind: 'add', amount: value })) },
  { weight: 1, arbitrary: int64.map((value): Change => ({ kind: 'assign', value })) },
);

/** What the statement does with a run's row: its new value, or undefined where the row is left alone. */
function statement(run: Run, present: bigint): bigint | undefined {
  if (present < INT64_MIN - run.lowest || present > INT64_MAX - run.highest) return undefined;
  return run.assigned ? run.amount : present + run.amount;
}

/** Sends runs as the queue does: shorter and shorter where one is left alone, until a single change is at fault. */
function sendInRuns(start: bigint, changes: readonly Change[]): { value: bigint; outcomes: ChangeOutcome[] } {
  let waiting = changes.map((each) => pendingChange('item', each));
  let value = start;
  let limit = waiting.length;
  const outcomes: ChangeOutcome[] = [];
  while (waiting.length > 0) {
    const run = new Run(waiting.slice(0, runLength(waiting, limit)));
    const after = statement(run, value);
    if (after === undefined && run.changes.length > 1) {
      limit = run.changes.length >> 1;
      continue;
    }
    if (after === undefined) outcomes.push({ kind: 'overflow' });
    else outcomes.push(...run.outcomes(after));
    value = after ?? value;
    limit = waiting.length;
    waiting = waiting.slice(run.changes.length);
  }
  return { value, outcomes };
}

test('every caller gets the outcome it would have had alone, whatever its neighbours ask', () => {
  fc.assert(
    fc.property(int64, fc.array(change, { minLength: 1, maxLength: 12 }), (start, changes) => {
      let value = start;
      const alone = changes.map((each): ChangeOutcome => {
        const next = valueAfter(value, each);
        if (next === undefined) return { kind: 'overflow' };
        value = next;
        return { kind: 'changed', value };
      });
      expect(sendInRuns(start, changes)).toEqual({ value, outcomes: alone });
    }),
    { numRuns: 2_000 },
  );
});

test('what a run sends to the database always fits into 64 bits', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 12 }), (changes) => {
      const waiting = changes.map((each) => pendingChange('item', each));
      const run = new Run(waiting.slice(0, runLength(waiting, waiting.length)));
      for (const sent of [run.amount, run.lowest, run.highest]) {
        expect(sent >= INT64_MIN && sent <= INT64_MAX).toBe(true);
      }
    }),
  );
});
