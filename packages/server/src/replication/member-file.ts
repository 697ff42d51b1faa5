import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError, writeWholeFile } from '@quotadb/storage';

/**
 * `members.json` in the data directory: the regions that have dialed this one, and that garbage collection waits for.
 * They are in no setting here, so that without this file a hub that restarts would not know its spokes, and would
 * collect deletions before they have them. A backup leaves it out.
 */
const FILE = 'members.json';
/** Far more than a cluster has. */
const MAXIMUM_MEMBERS = 1024;

export function loadMembers(directory: string): readonly string[] {
  const path = join(directory, FILE);
  try {
    const regions: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (Array.isArray(regions) && regions.every((region) => typeof region === 'string'))
      return regions.slice(0, MAXIMUM_MEMBERS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  }
  throw new StorageError(`${path} is damaged. Remove it: regions that dial this one are known again when they do`);
}

export function saveMembers(directory: string, regions: readonly string[]): void {
  writeWholeFile(directory, FILE, `${JSON.stringify(regions.slice(0, MAXIMUM_MEMBERS))}\n`);
}
