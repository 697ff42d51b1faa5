import type { Mistake, SimulationOptions } from '../world/cluster.js';
import { PLANS, type PlanName } from './plans.js';
import { type Finished, runOnThreads, runShare } from './shares.js';
import { shrink } from './shrink.js';

/** The options of `quotadb simulate`. */
export interface SimulateRequest {
  readonly kind: PlanName;
  /** Counters only: disks are never synced. */
  readonly isUnsynced: boolean;
  /** One schedule, or `count` of them from `from` on. */
  readonly seed?: number;
  readonly from: number;
  readonly count: number;
  /** No schedule begins after this time. */
  readonly seconds: number;
  /** Threads that run schedules at once. */
  readonly threads: number;
  readonly traces: boolean;
  readonly shrinks: boolean;
  readonly only?: ReadonlySet<number>;
  /** The number of a planted mistake, from 1. */
  readonly mistake?: number;
}

/** Failing schedules that are reported in full; further ones are only counted. */
const MOST_REPORTED = 10;
const SHRINK_ATTEMPTS = 400;
const PROGRESS_SCHEDULES = 1000;

/** Runs schedules and reports which failed and how to replay them. True when none did. */
export async function runSimulate(request: SimulateRequest, say: (line: string) => void): Promise<boolean> {
  const { seed, only, mistake, kind, isUnsynced, from, count, seconds, threads } = request;
  const { mistakes, flag: kindFlag } = PLANS[kind];
  const flag = kindFlag + (isUnsynced ? ' --unsynced' : '');
  const planted: Mistake | undefined = mistake === undefined ? undefined : mistakes[mistake - 1];
  if (planted !== undefined) say(`planted: ${planted.name}`);
  if (seed !== undefined) return runOne(seed, request, { ...planted, isUnsynced, ...(only && { only }) }, say);
  const startedAtMs = performance.now();
  let failed = 0;
  let done = 0;
  const finished = (one: Finished) => {
    done++;
    if (one.failure !== undefined && ++failed <= MOST_REPORTED) reportFailure(one, flag, say);
    if (done % PROGRESS_SCHEDULES === 0) say(`${done} schedules, ${failed} failed`);
  };
  const whole = { kind, isUnsynced, mistake, only, from, count, seconds };
  if (threads > 1) await runOnThreads(whole, threads, finished);
  else await runShare({ ...whole, stride: 1 }, finished);
  const minutes = (performance.now() - startedAtMs) / 60_000;
  say(`${done} schedules from seed ${from} on, ${failed} failed, ${Math.round(done / minutes)} a minute`);
  return failed === 0;
}

async function runOne(
  seed: number,
  { traces, shrinks, kind }: SimulateRequest,
  options: SimulationOptions,
  say: (line: string) => void,
): Promise<boolean> {
  let smaller = options;
  if (shrinks) {
    const only = await shrink(kind, seed, options, SHRINK_ATTEMPTS);
    smaller = { ...options, only };
    say(`--only ${[...only].join(',')}`);
  }
  const outcome = await PLANS[kind].simulate(seed, { ...smaller, traces });
  const { steps, ...plan } = outcome.plan;
  if (traces) {
    say(JSON.stringify({ ...plan, steps: steps.length }));
    for (const line of outcome.trace) say(line);
  }
  for (const failure of outcome.failures) say(failure);
  say(`seed ${seed}: ${outcome.failures.length === 0 ? 'holds' : 'FAILS'}`);
  return outcome.failures.length === 0;
}

function reportFailure({ seed, failure }: Finished, flag: string, say: (line: string) => void): void {
  say(`seed ${seed} FAILS: ${failure?.split('\n')[0]}`);
  say(`  replay: quotadb simulate${flag} --seed ${seed} --trace   (with --shrink for fewer steps)`);
}
