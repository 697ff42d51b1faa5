import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const WORKSPACE_NAME = 'quotadb-workspace';

/** The root of QuotaDB's repository, if this directory is in it. */
export function findRepository(from: string): string | undefined {
  for (let directory = resolve(from); ; directory = dirname(directory)) {
    if (isWorkspace(join(directory, 'package.json'))) return directory;
    if (directory === dirname(directory)) return undefined;
  }
}

/** The directory given, or else one of the repository, or of the current directory outside it. */
export function repositoryDirectory(given: string, ...folders: string[]): string {
  return given || join(findRepository(process.cwd()) ?? process.cwd(), ...folders);
}

function isWorkspace(file: string): boolean {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown }).name === WORKSPACE_NAME;
  } catch {
    return false;
  }
}

/** The beginning of every row of a run. */
export interface RunStamp {
  /** Raised when a field changes its meaning. */
  readonly format: 1;
  readonly date: string;
  readonly commit: string;
  /** Whether the working tree had changes that the commit does not. */
  readonly uncommittedChanges: boolean;
}

export function stampRun(): RunStamp {
  const date = new Date().toISOString();
  const cwd = findRepository(process.cwd()) ?? process.cwd();
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    // Results that were just written do not count as a change to the code that was measured.
    const changes = git('status', '--porcelain', '--', '.', ':!bench/results', ':!docs');
    return { format: 1, date, commit: git('rev-parse', 'HEAD'), uncommittedChanges: changes !== '' };
  } catch {
    return { format: 1, date, commit: 'unknown', uncommittedChanges: false };
  }
}
