import type { ClientBase } from 'pg';
import { CountError } from '../../domain/count-error.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import { judge, type Remainder, type Verdict } from './apply-groups.js';
import { applyRuns } from './apply-runs.js';
import type { Group } from './change-queue.js';
import type { PendingChange } from './pending-change.js';
import {
  claimRequests,
  type RememberedRequest,
  recallRequests,
  releaseRequests,
  rememberOutcomes,
} from './request-ledger.js';
import { Run, runLength } from './run.js';
import type { RunStatement } from './statement.js';
import { inTransaction } from './transaction.js';

/**
 * Changes with idempotency keys: claim the keys, apply what was claimed, remember the outcomes, all in one transaction.
 * A change that finds its key taken gets the answer that is remembered for it. Keys are locked before items everywhere,
 * and both in order, so transactions of several instances cannot deadlock.
 */
export async function applyKeyedGroups(client: ClientBase, groups: readonly Group[]): Promise<Remainder> {
  const refused = new Set<PendingChange>();
  const verdict = await inTransaction(client, async (runStatement) => {
    const all = groups.flat();
    const owners = await claim(runStatement, all);
    const runs: Run[] = [];
    const cutOff: PendingChange[] = [];
    for (const group of groups) {
      const owned = group.filter((pending) => owners.has(pending));
      if (owned.length === 0) continue;
      // Without the changes that are answered from the ledger, the rest may no longer be one run.
      const length = runLength(owned, owned.length);
      runs.push(new Run(owned.slice(0, length)));
      cutOff.push(...owned.slice(length));
    }
    const verdict = await applyOwned(runStatement, runs);
    for (const pending of cutOff) verdict.unsent.add(pending);
    await settleClaims(runStatement, verdict);
    const others = all.filter((pending) => !owners.has(pending));
    await recall(runStatement, others, verdict, refused);
    return verdict;
  });
  for (const [pending, outcome] of verdict.outcomes) pending.succeed(outcome);
  for (const pending of refused) pending.fail(new CountError('idempotency_key_reused'));
  return verdict;
}

/** The changes whose keys are ours to use. Of two changes with one key in the write, only the first can be. */
async function claim(runStatement: RunStatement, all: readonly PendingChange[]): Promise<Set<PendingChange>> {
  const firstByKey = new Map<string, PendingChange>();
  for (const pending of all) {
    if (!firstByKey.has(pending.request!.key)) firstByKey.set(pending.request!.key, pending);
  }
  const claimants = [...firstByKey.values()];
  const requests = claimants.map((pending) => pending.request!);
  const claimed = await claimRequests(runStatement, requests);
  return new Set(claimants.filter((pending) => claimed.has(pending.request!.key)));
}

async function applyOwned(runStatement: RunStatement, runs: readonly Run[]): Promise<Verdict> {
  const values = runs.length === 0 ? new Map<string, bigint>() : await applyRuns(runStatement, runs);
  const leftAlone = runs.filter((run) => !values.has(run.itemId));
  const verdict = await judge(runStatement, leftAlone);
  for (const run of runs) {
    const value = values.get(run.itemId);
    if (value === undefined) continue;
    const outcomes = run.outcomes(value);
    for (let index = 0; index < outcomes.length; index++) verdict.outcomes.set(run.changes[index]!, outcomes[index]!);
  }
  return verdict;
}

/** Writes the outcomes beside the keys, and gives back the keys of what will be sent again. */
async function settleClaims(runStatement: RunStatement, verdict: Verdict): Promise<void> {
  const answered = [...verdict.outcomes].map(([pending, outcome]) => ({
    key: pending.request!.key,
    outcome: outcome.kind,
    value: outcome.kind === 'changed' ? outcome.value : null,
  }));
  await rememberOutcomes(runStatement, answered);
  const unsent = [...verdict.unsent].map((pending) => pending.request!.key);
  await releaseRequests(runStatement, unsent);
}

/** Answers from the ledger. A key that is not there (any more) is tried again from the start. */
async function recall(
  runStatement: RunStatement,
  others: readonly PendingChange[],
  verdict: Verdict,
  refused: Set<PendingChange>,
): Promise<void> {
  const keys = others.map((pending) => pending.request!.key);
  const remembered = await recallRequests(runStatement, keys);
  for (const pending of others) {
    const memory = remembered.get(pending.request!.key);
    if (memory === undefined) verdict.unsent.add(pending);
    else if (memory.fingerprint !== pending.request!.fingerprint) refused.add(pending);
    else verdict.outcomes.set(pending, outcomeFrom(memory));
  }
}

function outcomeFrom({ outcome, value }: RememberedRequest): ChangeOutcome {
  if (outcome === 'changed' && value !== null) return { kind: 'changed', value };
  if (outcome === 'missing' || outcome === 'overflow') return { kind: outcome };
  throw new Error(`the ledger holds an outcome that a change cannot have: ${outcome}`);
}
