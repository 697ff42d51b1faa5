import { type Summary, summaryOf } from '../results/summary.js';

/** Several ways to do the same, each measured in this process. */
export interface Contest {
  readonly name: string;
  readonly description: string;
  readonly sides: readonly ContestSide[];
}

export interface ContestSide {
  readonly name: string;
  /** Operations that are under way at once; 0 where an operation is over when it returns. */
  readonly concurrency: number;
  readonly operate: (index: number) => unknown;
}

export interface SideResult {
  readonly operationsPerSecond: Summary;
  /** Of this process, in which the client runs; the servers have their own. */
  readonly clientCpuMicrosecondsPerOperation: Summary;
}

interface Round {
  readonly operationsPerSecond: number;
  readonly clientCpuMicrosecondsPerOperation: number;
}

/** Operations between two looks at the clock. */
const BATCH_OPERATIONS = 1_000;

/** The sides take turns, so that whatever else the machine is doing meets them alike. The first turn warms up. */
export async function measureContest(
  contest: Contest,
  options: { readonly seconds: number; readonly rounds: number },
  signal: AbortSignal,
): Promise<Record<string, SideResult>> {
  const rounds = new Map<string, Round[]>(contest.sides.map(({ name }) => [name, []]));
  for (let round = 0; round <= options.rounds; round++) {
    for (const side of contest.sides) {
      signal.throwIfAborted();
      const measured = await measureRound(side, round === 0 ? options.seconds / 4 : options.seconds);
      if (round > 0) rounds.get(side.name)!.push(measured);
    }
  }
  return Object.fromEntries([...rounds].map(([name, all]) => [name, summarize(all)]));
}

async function measureRound(side: ContestSide, seconds: number): Promise<Round> {
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + seconds * 1_000;
  const operations = side.concurrency === 0 ? operateAtOnce(side, endsAtMs) : await operateTogether(side, endsAtMs);
  const elapsedMs = performance.now() - startedAtMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    operationsPerSecond: (operations * 1_000) / elapsedMs,
    clientCpuMicrosecondsPerOperation: (user + system) / operations,
  };
}

function operateAtOnce(side: ContestSide, endsAtMs: number): number {
  let operations = 0;
  while (performance.now() < endsAtMs) {
    for (let index = 0; index < BATCH_OPERATIONS; index++) side.operate(operations + index);
    operations += BATCH_OPERATIONS;
  }
  return operations;
}

async function operateTogether(side: ContestSide, endsAtMs: number): Promise<number> {
  let operations = 0;
  const worker = async () => {
    while (performance.now() < endsAtMs) await side.operate(operations++);
  };
  await Promise.all(Array.from({ length: side.concurrency }, worker));
  return operations;
}

function summarize(rounds: readonly Round[]): SideResult {
  return {
    operationsPerSecond: summaryOf(rounds.map((round) => round.operationsPerSecond)),
    clientCpuMicrosecondsPerOperation: summaryOf(rounds.map((round) => round.clientCpuMicrosecondsPerOperation)),
  };
}
