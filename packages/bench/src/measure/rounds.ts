import type { LoadResult } from '../load/load-job.js';
import type { Request } from '../load/request.js';
import type { Round } from '../results/measures.js';
import type { NamedSide } from '../results/row.js';
import { summarize } from '../results/summary.js';
import type { RunningServer } from '../servers/contenders.js';

/**
 * Measures all sides by turns, every other round in reverse (A B, B A, A B, …), so that other work on the machine meets
 * them alike and no side always goes first. Returns the rounds of each side, in the order of the sides.
 */
export async function byTurns<Side, Measured>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<Measured>,
): Promise<Measured[][]> {
  const measured: Measured[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const inOrder = [...sides.entries()];
    const turn = round % 2 === 0 ? inOrder : inOrder.reverse();
    for (const [index, side] of turn) measured[index]!.push(await measure(side, round));
  }
  return measured;
}

/** The figures of a load that went as fast as the server would go. */
export function fullLoadRound(result: LoadResult): Round {
  return {
    throughputPerSecond: perSecond(result),
    ...ifKnown('serverCpuMicrosecondsPerOperation', result.serverCpuMicroseconds, result.operations),
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    p999Ms: result.p999Ms,
    ...ifKnown('serverBusyCpus', result.serverCpuMicroseconds, result.elapsedMs * 1000),
    ...ifKnown('clientBusyCpus', result.clientCpuMicroseconds, result.elapsedMs * 1000),
  };
}

export function halfLoadRound(result: LoadResult): Round {
  return {
    halfLoadPerSecond: perSecond(result),
    ...ifKnown('halfLoadServerCpuMicrosecondsPerOperation', result.serverCpuMicroseconds, result.operations),
    halfLoadP50Ms: result.p50Ms,
    halfLoadP99Ms: result.p99Ms,
    halfLoadP999Ms: result.p999Ms,
  };
}

/** At a rate that an aim names, whatever the server can do. */
export function aimedLoadRound(result: LoadResult): Round {
  return {
    aimedLoadPerSecond: perSecond(result),
    aimedLoadP50Ms: result.p50Ms,
    aimedLoadP99Ms: result.p99Ms,
    aimedLoadP999Ms: result.p999Ms,
  };
}

export function perSecond({ operations, elapsedMs }: LoadResult): number {
  return (operations * 1000) / elapsedMs;
}

function ifKnown(name: keyof Round, value: number | undefined, divisor: number): Round {
  return value === undefined ? {} : { [name]: value / divisor };
}

/** A server's side of a row. */
export function sideOf(server: RunningServer, pattern: readonly Request[], rounds: readonly Round[]): NamedSide {
  const { name, kind, serveArguments } = server.contender;
  return {
    name,
    kind,
    version: server.version,
    serveArguments,
    limits: server.limits,
    commands: pattern.map((request) => request.map((command) => command.join(' ')).join('; ')).join(' | '),
    measures: summarize(rounds),
  };
}
