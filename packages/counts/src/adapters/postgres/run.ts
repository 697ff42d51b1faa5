import { valueAfter } from '../../domain/change.js';
import { isInt64 } from '../../domain/int64.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import type { PendingChange } from './pending-change.js';

/**
 * Consecutive changes of one item, folded into what a single row of a statement can do, in one of two forms:
 *
 *   adds only           The row adds the sum. Each caller's value follows from the row's final value, going back. The
 *                       row is left alone unless every value on the way, from `lowest` to `highest` away from where it
 *                       starts, fits into 64 bits.
 *   opened by an assign Everything after the first assign is known without asking, overflows included, so the row
 *                       simply takes the last value.
 *
 * Adds followed by an assign do not fit either form; `runLength` cuts there, and the assign opens the next run.
 */
export class Run {
  readonly itemId: string;
  readonly changes: readonly PendingChange[];
  readonly assigned: boolean;
  /** What the row adds, or with `assigned` the value it takes. */
  readonly amount: bigint;
  readonly lowest: bigint;
  readonly highest: bigint;

  constructor(changes: readonly PendingChange[]) {
    const first = changes[0]!;
    this.itemId = first.itemId;
    this.changes = changes;
    this.assigned = first.change.kind === 'assign';
    if (this.assigned) {
      this.amount = lastValue(changes);
      this.lowest = 0n;
      this.highest = 0n;
      return;
    }
    let sum = 0n;
    let lowest = 0n;
    let highest = 0n;
    for (const { change } of changes) {
      if (change.kind !== 'add') throw new Error('a run of adds holds an assign');
      sum += change.amount;
      if (sum < lowest) lowest = sum;
      else if (sum > highest) highest = sum;
    }
    this.amount = sum;
    this.lowest = lowest;
    this.highest = highest;
  }

  /** Each change's own outcome, given the row's value after the statement: as if every caller had been alone. */
  outcomes(finalValue: bigint): ChangeOutcome[] {
    let value = this.assigned ? 0n : finalValue - this.amount;
    return this.changes.map(({ change }) => {
      const next = valueAfter(value, change);
      if (next === undefined) return { kind: 'overflow' };
      value = next;
      return { kind: 'changed', value };
    });
  }
}

/** How many of the waiting changes, from the first, fit into one run. */
export function runLength(waiting: readonly PendingChange[], limit: number): number {
  const end = Math.min(waiting.length, limit);
  if (waiting[0]!.change.kind === 'assign') return end;
  let sum = 0n;
  for (let index = 0; index < end; index++) {
    const { change } = waiting[index]!;
    if (change.kind === 'assign') return index;
    sum += change.amount;
    if (!isInt64(sum)) return index;
  }
  return end;
}

function lastValue(changes: readonly PendingChange[]): bigint {
  return changes.reduce((value, { change }) => valueAfter(value, change) ?? value, 0n);
}
