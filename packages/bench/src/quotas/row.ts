import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How much of a limit one limiter allowed. */
export interface Admission {
  readonly admitted: number;
  /** Beyond the limit, as a part of it. */
  readonly overAdmission: number;
  /** Of the limit, at most 1. */
  readonly utilisation: number;
}

/** One line of the history: a limit, a demand, and what every limiter made of it. Simulated, so the machine has no part in it. */
export interface QuotasRow {
  readonly format: 1;
  readonly date: string;
  readonly commit: string;
  readonly uncommittedChanges: boolean;
  readonly regions: number;
  readonly demand: string;
  readonly limit: number;
  readonly asked: number;
  readonly delayMs: number;
  readonly seed: number;
  readonly sides: Readonly<Record<string, Admission>>;
}

const COMMIT_LETTERS = 7;

/** A file per run, as the other benchmarks have it. */
export function writeQuotaRows(directory: string, rows: readonly QuotasRow[]): string {
  const [first] = rows;
  const moment = first!.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-');
  const file = join(directory, `${moment}-${first!.commit.slice(0, COMMIT_LETTERS)}.ndjson`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

/** The rows of the newest run; none where there is none. */
export function readNewestQuotaRows(directory: string): QuotasRow[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.ndjson'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const newest = names.sort().at(-1);
  if (newest === undefined) return [];
  const lines = readFileSync(join(directory, newest), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as QuotasRow);
}
