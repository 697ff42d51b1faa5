import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunStamp } from './environment.js';
import type { ResultRow } from './row.js';

/** Enough of a commit to tell runs apart. */
export const COMMIT_LETTERS = 7;

/** A file per run, so that two branches that both measured never touch the same file. */
export function writeHistory(directory: string, rows: readonly RunStamp[]): string {
  const [first] = rows;
  if (first === undefined) throw new Error('a run without rows has no place in the history');
  const moment = first.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-');
  const file = join(directory, `${moment}-${first.commit.slice(0, COMMIT_LETTERS)}.ndjson`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

/** All rows there are, oldest first. */
export function readHistory(directory: string): ResultRow[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.ndjson'));
  return files
    .flatMap((name) => {
      const lines = readFileSync(join(directory, name), 'utf8').split('\n');
      return lines.filter((line) => line !== '').map((line, index) => parseRow(line, `${name}:${index + 1}`));
    })
    .sort((a, b) => a.date.localeCompare(b.date));
}

function parseRow(line: string, where: string): ResultRow {
  try {
    return JSON.parse(line) as ResultRow;
  } catch (error) {
    throw new Error(`${where} is no JSON: ${(error as Error).message}`);
  }
}
