import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
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
  if (!existsSync(file)) return false;
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown }).name === WORKSPACE_NAME;
  } catch {
    return false;
  }
}

export interface Revision {
  readonly commit: string;
  /** Whether the working tree had changes that the commit does not. */
  readonly uncommittedChanges: boolean;
}

/** The beginning of every row of a run. */
export interface RunStamp extends Revision {
  /** Raised when a field changes its meaning. */
  readonly format: 1;
  readonly date: string;
}

export function stampRun(): RunStamp {
  return { format: 1, date: new Date().toISOString(), ...revisionOf(findRepository(process.cwd())) };
}

/** Results that were just written do not count as a change to what was measured. */
function revisionOf(repository: string | undefined): Revision {
  try {
    const git = (...words: string[]) =>
      execFileSync('git', words, {
        cwd: repository ?? process.cwd(),
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    return {
      commit: git('rev-parse', 'HEAD').trim(),
      uncommittedChanges: git('status', '--porcelain', '--', '.', ':!bench/results', ':!docs').trim() !== '',
    };
  } catch {
    return { commit: 'unknown', uncommittedChanges: false };
  }
}
