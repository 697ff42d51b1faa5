import { valueAfter } from '../../domain/change.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import { applyRuns, presentValues } from './apply-runs.js';
import type { Group } from './change-queue.js';
import type { PendingChange } from './pending-change.js';
import { Run } from './run.js';
import type { RunStatement } from './statement.js';

/** What a statement left undone. */
export interface Remainder {
  /** Certainly not applied; to be sent again. */
  readonly unsent: Set<PendingChange>;
  /** Groups that could not be applied as a whole: one of their changes leaves the 64-bit range. */
  readonly spoiled: Group[];
}

/** Plain changes: one statement that is its own transaction. Those it changed have their answers at once. */
export async function applyPlainGroups(runStatement: RunStatement, groups: readonly Group[]): Promise<Remainder> {
  const runs = groups.map((group) => new Run(group));
  const values = await applyRuns(runStatement, runs);
  const leftAlone: Run[] = [];
  for (const run of runs) {
    const value = values.get(run.itemId);
    if (value === undefined) leftAlone.push(run);
    else settle(run.changes, run.outcomes(value));
  }
  if (leftAlone.length === 0) return { unsent: new Set(), spoiled: [] };
  try {
    const verdict = await judge(runStatement, leftAlone);
    for (const [pending, outcome] of verdict.outcomes) pending.succeed(outcome);
    return verdict;
  } catch {
    // The statement above has said that these were not applied; only the reason is still open.
    return { unsent: new Set(leftAlone.flatMap((run) => run.changes)), spoiled: [] };
  }
}

export interface Verdict extends Remainder {
  readonly outcomes: Map<PendingChange, ChangeOutcome>;
}

/** Why the statement left these runs alone: no such item, or a change that does not fit into 64 bits. */
export async function judge(runStatement: RunStatement, runs: readonly Run[]): Promise<Verdict> {
  const verdict: Verdict = { outcomes: new Map(), unsent: new Set(), spoiled: [] };
  if (runs.length === 0) return verdict;
  const itemIds = runs.map((run) => run.itemId);
  const present = await presentValues(runStatement, itemIds);
  for (const run of runs) {
    const value = present.get(run.itemId);
    const [first] = run.changes;
    if (value === undefined) {
      for (const pending of run.changes) verdict.outcomes.set(pending, { kind: 'missing' });
    } else if (run.changes.length === 1 && valueAfter(value, first!.change) === undefined) {
      verdict.outcomes.set(first!, { kind: 'overflow' });
    } else {
      // Several changes: one of them is at fault. A single one that would fit now: the item has changed in between.
      for (const pending of run.changes) verdict.unsent.add(pending);
      if (run.changes.length > 1) verdict.spoiled.push(run.changes);
    }
  }
  return verdict;
}

function settle(changes: readonly PendingChange[], outcomes: readonly ChangeOutcome[]): void {
  for (let index = 0; index < changes.length; index++) changes[index]!.succeed(outcomes[index]!);
}
