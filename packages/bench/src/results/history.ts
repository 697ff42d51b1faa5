import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResultRow } from './row.js';
import type { RunStamp } from './stamp.js';

/** Enough letters of a commit to distinguish runs. */
export const COMMIT_LETTERS = 7;

/** A file per run, so that two branches that both measured never touch the same file. */
export function writeHistory(directory: string, rows: readonly RunStamp[]): string {
  const [first] = rows;
  if (first === undefined) throw new Error('a run without rows is not written to the history');
  const moment = first.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-');
  const file = join(directory, `${moment}-${first.commit.slice(0, COMMIT_LETTERS)}.ndjson`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

/** All rows of a directory, oldest first; none where it is missing. */
export function readHistory<Row extends RunStamp = ResultRow>(directory: string): Row[] {
  const rows = historyFiles(directory).flatMap((name) => readRows<Row>(directory, name));
  return rows.sort((a, b) => a.date.localeCompare(b.date));
}

/** The rows of the newest run; none where the directory is missing or empty. */
export function readNewestRun<Row>(directory: string): Row[] {
  const newest = historyFiles(directory).sort().at(-1);
  return newest === undefined ? [] : readRows<Row>(directory, newest);
}

function historyFiles(directory: string): string[] {
  return !existsSync(directory) ? [] : readdirSync(directory).filter((name) => name.endsWith('.ndjson'));
}

function readRows<Row>(directory: string, name: string): Row[] {
  const lines = readFileSync(join(directory, name), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line, index) => parseRow<Row>(line, `${name}:${index + 1}`));
}

function parseRow<Row>(line: string, where: string): Row {
  try {
    return JSON.parse(line) as Row;
  } catch (error) {
    throw new Error(`${where} is not JSON: ${(error as Error).message}`);
  }
}
