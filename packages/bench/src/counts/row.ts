import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineDescription } from '../machine/describe.js';
import type { DatabaseDescription } from './bench-database.js';
import type { CountsMeasures } from './measures.js';

const COMMIT_LETTERS = 7;

/** One line of the history: a scenario, and what every side made of it. */
export interface CountsRow {
  readonly format: 1;
  readonly date: string;
  readonly commit: string;
  readonly uncommittedChanges: boolean;
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

/** A file per run, as the other benchmarks have it. */
export function writeCountsHistory(directory: string, rows: readonly CountsRow[]): string {
  const [first] = rows;
  if (first === undefined) throw new Error('a run without rows has no place in the history');
  const moment = first.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-');
  const file = join(directory, `${moment}-${first.commit.slice(0, COMMIT_LETTERS)}.ndjson`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

export function formatCountsRow(row: CountsRow): string {
  const how = row.requestedPerSecond === undefined ? row.client : `${row.requestedPerSecond} requests/s asked for`;
  const lines = [
    `${row.scenario}: ${row.items} items, ${row.connections} connections, ${row.secondsPerRound} s, ${how}`,
  ];
  for (const [name, measures] of Object.entries(row.sides)) {
    lines.push(
      `  ${name.padEnd(14)} ${measures.requestsPerSecond.median.toFixed(0).padStart(7)} requests/s` +
        `   p50 ${measures.latencyMsP50.median.toFixed(1)} ms   p99 ${measures.latencyMsP99.median.toFixed(1)} ms` +
        `   p99.9 ${measures.latencyMsP999.median.toFixed(1)} ms` +
        `   ${measures.serviceCpuMicrosecondsPerRequest.median.toFixed(1)} µs CPU/request` +
        `   ${measures.failures.maximum} failures`,
    );
  }
  if (row.ratioToOneStatement !== undefined)
    lines.push(`  ${row.ratioToOneStatement.toFixed(1)} times the one-statement service`);
  return lines.join('\n');
}
