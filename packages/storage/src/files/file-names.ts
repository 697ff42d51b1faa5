import { join } from 'node:path';
import type { FileSystem } from './file-system.js';

/** log-0000000007.qdb, snapshot-0000000007.qdb; files that end in .part were never finished and are removed. */
const NAME = /^(log|snapshot)-(\d{10})\.qdb$/;
const UNFINISHED = '.part';

export function logPath(directory: string, number: number): string {
  return join(directory, `log-${String(number).padStart(10, '0')}.qdb`);
}

export function snapshotPath(directory: string, number: number): string {
  return join(directory, `snapshot-${String(number).padStart(10, '0')}.qdb`);
}

export function unfinished(path: string): string {
  return path + UNFINISHED;
}

export interface DataFiles {
  /** In ascending order. */
  readonly logs: readonly number[];
  readonly snapshots: readonly number[];
  readonly unfinished: readonly string[];
}

export async function findDataFiles(fileSystem: FileSystem, directory: string): Promise<DataFiles> {
  const logs: number[] = [];
  const snapshots: number[] = [];
  const left: string[] = [];
  for (const name of await fileSystem.list(directory)) {
    const match = NAME.exec(name);
    if (match !== null) (match[1] === 'log' ? logs : snapshots).push(Number(match[2]));
    else if (name.endsWith(UNFINISHED)) left.push(join(directory, name));
  }
  const ascending = (a: number, b: number) => a - b;
  return { logs: logs.sort(ascending), snapshots: snapshots.sort(ascending), unfinished: left };
}
