import type { MachineDescription } from '../machine/describe.js';
import type { RunStamp } from '../results/stamp.js';
import type { Summary } from '../results/summary.js';
import type { DatabaseDescription } from './database.js';
import type { LoadResult } from './requests.js';

export interface CountsRound extends Omit<LoadResult, 'requests' | 'seconds'> {
  readonly requestsPerSecond: number;
  /** Of the service's own process, without the database. */
  readonly serviceCpuMicrosecondsPerRequest: number;
  /** Of all processors. Little of it says that other programs took their part; rows before 19 November lack it. */
  readonly machineIdleShare?: number;
}

export type CountsMeasures = { readonly [Name in keyof CountsRound]: Summary };

/** A row of bench/results/counts: a scenario, and the figures of every side. */
export interface CountsRow extends RunStamp {
  readonly machine: MachineDescription;
  readonly database: DatabaseDescription;
  readonly smoke: boolean;
  readonly scenario: string;
  readonly client: string;
  readonly items: number;
  readonly connections: number;
  readonly secondsPerRound: number;
  readonly rounds: number;
  /** Only of a run at a constant rate. */
  readonly requestedPerSecond?: number;
  readonly sides: Readonly<Record<string, CountsMeasures>>;
  /** Requests per second, ours over theirs; left out where only one side ran. */
  readonly ratioToOneStatement?: number;
}

export function formatCountsRow(row: CountsRow): string {
  const how = row.requestedPerSecond === undefined ? row.client : `${row.requestedPerSecond} requests/s asked for`;
  const lines = [
    `${row.scenario}: ${row.items} items, ${row.connections} connections, ${row.secondsPerRound} s, ${how}`,
  ];
  for (const [name, side] of Object.entries(row.sides)) {
    const figures = [
      `${side.requestsPerSecond.median.toFixed(0).padStart(7)} requests/s`,
      `p50 ${side.latencyMsP50.median.toFixed(1)} ms`,
      `p99 ${side.latencyMsP99.median.toFixed(1)} ms`,
      `p99.9 ${side.latencyMsP999.median.toFixed(1)} ms`,
      `${side.serviceCpuMicrosecondsPerRequest.median.toFixed(1)} µs CPU/request`,
      `${side.failures.maximum} failures`,
      side.machineIdleShare === undefined ? '' : `machine idle ${(side.machineIdleShare.median * 100).toFixed(0)} %`,
    ];
    lines.push(`  ${name.padEnd(14)} ${figures.join('   ')}`);
  }
  if (row.ratioToOneStatement !== undefined)
    lines.push(`  ${row.ratioToOneStatement.toFixed(1)} times the one-statement service`);
  return lines.join('\n');
}
