import type { Run } from './run.js';
import type { RunStatement } from './statement.js';
import { APPLY_RUNS, PRESENT_VALUES, WHICH_ARE_LOCKED } from './statements.js';
import { plainArray, textArray } from './text-array.js';

/**
 * Applies all runs in one statement. The values of the items that were changed; the others are missing or left alone.
 */
export async function applyRuns(runStatement: RunStatement, runs: readonly Run[]): Promise<Map<string, bigint>> {
  const rows = await runStatement<[string, string]>({
    text: APPLY_RUNS,
    values: [
      textArray(runs.map((run) => run.itemId)),
      plainArray(runs.map((run) => run.amount)),
      plainArray(runs.map((run) => run.lowest)),
      plainArray(runs.map((run) => run.highest)),
      plainArray(runs.map((run) => run.assigned)),
    ],
  });
  return new Map(rows.map(([itemId, value]) => [itemId, BigInt(value)]));
}

/** The values of those items that exist. */
export async function presentValues(run: RunStatement, itemIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await run<[string, string]>({
    text: PRESENT_VALUES,
    values: [textArray(itemIds)],
  });
  return new Map(rows.map(([itemId, value]) => [itemId, BigInt(value)]));
}

/** Those items whose rows another session holds at this moment. */
export async function whichAreLocked(run: RunStatement, itemIds: readonly string[]): Promise<Set<string>> {
  const rows = await run<[string]>({
    text: WHICH_ARE_LOCKED,
    values: [textArray(itemIds)],
  });
  return new Set(rows.map(([itemId]) => itemId));
}
