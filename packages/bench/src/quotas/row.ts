import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunStamp } from '../results/environment.js';

/** How much of a limit one limiter allowed. */
export interface Admission {
  readonly admitted: number;
  /** Beyond the limit, as a part of it. */
  readonly overAdmission: number;
  /** Of the limit, at most 1. */
  readonly utilisation: number;
}

/** One line of the history: a limit, a demand, and what every limiter made of it. Simulated, so the machine has no part in it. */
export interface QuotasRow extends RunStamp {
  readonly regions: number;
  readonly demand: string;
  readonly limit: number;
  readonly asked: number;
  readonly delayMs: number;
  readonly seed: number;
  readonly sides: Readonly<Record<string, Admission>>;
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
