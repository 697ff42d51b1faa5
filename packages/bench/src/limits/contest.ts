import { byTurns } from '../measure/rounds.js';
import type { LimitsRatio, LimitsRound, LimitsSide } from '../results/limits-row.js';
import { summarize } from '../results/summary.js';

export interface Server {
  readonly port: number;
  readonly pid: number;
}

/** What the contests run against. */
export interface Servers {
  readonly redis: Server;
  readonly quotadb: Server;
}

/** Several ways to do the same, measured by turns. */
export interface Contest {
  readonly name: string;
  readonly description: string;
  readonly sides: readonly ContestSide[];
}

export interface ContestSide {
  readonly name: string;
  readonly measure: (seconds: number, signal: AbortSignal) => Promise<LimitsRound>;
  /** The name of another side that this one is compared with. */
  readonly comparedWith?: string;
}

const OPERATIONS_PER_CLOCK_READ = 1_000;
/** The part of a round that is run, and not measured, before the first one. */
const WARMUP_SHARE = 1 / 4;

export async function measureContest(
  { sides }: Contest,
  { seconds, rounds }: { readonly seconds: number; readonly rounds: number },
  signal: AbortSignal,
): Promise<Record<string, LimitsSide>> {
  const measure = (side: ContestSide, length: number) => {
    signal.throwIfAborted();
    return side.measure(length, signal);
  };
  for (const side of sides) await measure(side, seconds * WARMUP_SHARE);
  const measured = await byTurns(sides, rounds, (side) => measure(side, seconds));
  return Object.fromEntries(sides.map(({ name }, index) => [name, summarize(measured[index]!)]));
}

/** Of every side that is compared with another, its medians over that one's. */
export function ratiosOf(
  { sides }: Contest,
  results: Readonly<Record<string, LimitsSide>>,
): Readonly<Record<string, LimitsRatio>> | undefined {
  const ratios = sides.flatMap(({ name, comparedWith: to }): [string, LimitsRatio][] => {
    if (to === undefined) return [];
    const ours = results[name]!;
    const theirs = results[to]!;
    const ourCpu = ours.serverCpuMicrosecondsPerOperation?.median;
    const theirCpu = theirs.serverCpuMicrosecondsPerOperation?.median;
    const operationsPerSecond = ours.operationsPerSecond.median / theirs.operationsPerSecond.median;
    if (!ourCpu || !theirCpu) return [[name, { to, operationsPerSecond }]];
    return [[name, { to, operationsPerSecond, serverCpuMicrosecondsPerOperation: ourCpu / theirCpu }]];
  });
  return ratios.length === 0 ? undefined : Object.fromEntries(ratios);
}

interface Operations {
  /** Operations that are under way at once; 0 where an operation is over when it returns. */
  readonly concurrency: number;
  readonly operate: (index: number) => unknown;
}

/** A round of operations in this process. */
export async function measureHere(operations: Operations, seconds: number): Promise<LimitsRound> {
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + seconds * 1_000;
  const done =
    operations.concurrency === 0 ? operateAtOnce(operations, endsAtMs) : await operateTogether(operations, endsAtMs);
  const elapsedMs = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    operationsPerSecond: (done * 1_000) / elapsedMs,
    clientCpuMicrosecondsPerOperation: (user + system) / done,
  };
}

function operateAtOnce(side: Operations, endsAtMs: number): number {
  let operations = 0;
  while (performance.now() < endsAtMs) {
    for (let index = 0; index < OPERATIONS_PER_CLOCK_READ; index++) side.operate(operations + index);
    operations += OPERATIONS_PER_CLOCK_READ;
  }
  return operations;
}

async function operateTogether(side: Operations, endsAtMs: number): Promise<number> {
  let operations = 0;
  const worker = async () => {
    while (performance.now() < endsAtMs) await side.operate(operations++);
  };
  await Promise.all(Array.from({ length: side.concurrency }, worker));
  return operations;
}
