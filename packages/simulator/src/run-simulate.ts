import type { Outcome, SimulationOptions } from './cluster.js';
import { MISTAKES } from './mistakes.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';

/** What `quotadb simulate` was asked for. */
export interface SimulateRequest {
  /** One schedule, or `count` of them from `from` on. */
  readonly seed?: number;
  readonly from: number;
  readonly count: number;
  /** Stops after the first schedule that began past this. */
  readonly seconds: number;
  readonly traces: boolean;
  readonly shrinks: boolean;
  readonly only?: ReadonlySet<number>;
  /** The number of a planted mistake, from 1. */
  readonly mistake?: number;
}

/** Failing schedules that are told in full; more of them are counted. */
const MOST_TOLD = 10;
const SHRINK_ATTEMPTS = 400;
const PROGRESS_SCHEDULES = 1000;

/** Runs schedules and says which failed and how to look at them. True when none did. */
export async function runSimulate(request: SimulateRequest, say: (line: string) => void): Promise<boolean> {
  const planted = request.mistake === undefined ? undefined : MISTAKES[request.mistake - 1];
  const options: SimulationOptions = { ...planted, ...(request.only && { only: request.only }) };
  if (planted !== undefined) say(`planted: ${planted.name}`);
  if (request.seed !== undefined) return runOne(request.seed, request, options, say);
  const startedAtMs = performance.now();
  let failed = 0;
  let done = 0;
  for (let seed = request.from; done < request.count; seed++) {
    if (performance.now() - startedAtMs > request.seconds * 1000) break;
    const outcome = await simulate(seed, options);
    done++;
    if (outcome.failures.length > 0 && ++failed <= MOST_TOLD) tellFailure(outcome, say);
    if (done % PROGRESS_SCHEDULES === 0) say(`${done} schedules, ${failed} failed`);
  }
  const minutes = (performance.now() - startedAtMs) / 60_000;
  say(`${done} schedules from seed ${request.from} on, ${failed} failed, ${Math.round(done / minutes)} a minute`);
  return failed === 0;
}

async function runOne(
  seed: number,
  { traces, shrinks }: SimulateRequest,
  options: SimulationOptions,
  say: (line: string) => void,
): Promise<boolean> {
  let smaller = options;
  if (shrinks) {
    const only = await shrink(seed, options, SHRINK_ATTEMPTS);
    smaller = { ...options, only };
    say(`--only ${[...only].join(',')}`);
  }
  const outcome = await simulate(seed, { ...smaller, traces });
  const { steps, ...plan } = outcome.plan;
  if (traces) {
    say(JSON.stringify({ ...plan, steps: steps.length }));
    for (const line of outcome.trace) say(line);
  }
  for (const failure of outcome.failures) say(failure);
  say(`seed ${seed}: ${outcome.failures.length === 0 ? 'holds' : 'FAILS'}`);
  return outcome.failures.length === 0;
}

function tellFailure({ seed, failures }: Outcome, say: (line: string) => void): void {
  say(`seed ${seed} FAILS: ${failures[0].split('\n')[0]}`);
  say(`  replay: quotadb simulate --seed ${seed} --trace   (with --shrink for fewer steps)`);
}
