import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Member } from '@quotadb/replication';
import { StorageError, writeWholeFile } from '@quotadb/storage';
import type { Logger } from 'pino';

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

/** Keeps the regions that have dialed a running server. */
export class MemberFile {
  private readonly directory: string;
  private readonly logger: Logger;
  /** As they are on disk, with commas between. */
  private saved: string;

  constructor(directory: string, remembered: readonly string[], logger: Logger) {
    this.directory = directory;
    this.saved = [...remembered].sort().join();
    this.logger = logger;
  }

  save(members: Iterable<Member>): void {
    const regions = [...members].filter(({ isConfigured }) => !isConfigured).map(({ region }) => region);
    const text = regions.sort().join();
    if (text === this.saved) return;
    try {
      writeWholeFile(this.directory, FILE, `${JSON.stringify(regions.slice(0, MAXIMUM_MEMBERS))}\n`);
      this.saved = text;
    } catch (error) {
      this.logger.error({ err: error }, 'members.json could not be written: a restart does not wait for new regions');
    }
  }
}
