import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { nameOfOrigin, type OldCopyProof } from '@quotadb/replication';
import { type LogPlace, markOldCopy } from '@quotadb/storage';
import type { Logger } from 'pino';
import { noteStart, releaseStarts, type SavedStart } from './start-file.js';

/** What the disk of a server does for its starts. */
interface StartDisk {
  readonly directory: string;
  /** Where the log of this process begins. */
  readonly place: LogPlace;
  /** This start has made the incarnation: no other process can have changed it before. */
  readonly isNewIncarnation: boolean;
  /** Keeps the files that starts with these first segments have read, and no others. */
  retain(segments: readonly number[]): Promise<void>;
}

interface StartKeeperOptions {
  readonly engine: Engine;
  readonly origin: Uint8Array;
  readonly logger: Logger;
  readonly nowMs: number;
  /** There is any peer that could hold other changes, also one that is not configured; and the start can be rebuilt. */
  readonly mayBeOldCopy: boolean;
  /** Undefined where there is none: then a restart is a new incarnation. */
  readonly disk: StartDisk | undefined;
}

/**
 * The starts of a server's incarnation, on its disk. Until its peers have shown that the directory is no old copy, the
 * files are kept that this start has read (packages/storage/src/identity/kept-files.ts); where they show that it is
 * one, the directory is marked, and the next start makes it a new incarnation.
 */
export class StartKeeper {
  readonly starts: readonly SavedStart[];
  /** What the operator must do; empty where the directory is no old copy as far as is known. */
  trouble = '';
  private readonly options: StartKeeperOptions;
  private readonly originName: string;
  private hasFailed = false;

  /** Before the first change. */
  constructor(options: StartKeeperOptions) {
    const { engine, nowMs, disk, mayBeOldCopy } = options;
    this.options = options;
    this.originName = nameOfOrigin(options.origin);
    const versions = Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, OWN_ORIGIN));
    const isHeld = disk !== undefined && !disk.isNewIncarnation && mayBeOldCopy;
    const present = { versions, nowMs, ...(isHeld && { isHeld, place: disk.place }) };
    this.starts = disk === undefined ? [present] : noteStart(disk.directory, this.originName, present);
    this.retain(this.starts.flatMap(({ place }) => place?.segment ?? []));
  }

  /** Changes since the starts may be sent; false where that cannot be noted. */
  readonly release = (): boolean => {
    const { disk, logger } = this.options;
    if (disk === undefined) return true;
    try {
      releaseStarts(disk.directory, this.originName, this.starts);
    } catch (error) {
      if (!this.hasFailed)
        logger.error({ err: error }, 'starts.json could not be written: changes are not sent to peers');
      this.hasFailed = true;
      return false;
    }
    this.retain([]);
    return true;
  };

  /** Peers hold other changes of this incarnation, and none that was made here since the start of the proof. */
  noteOldCopy({ start, reason }: OldCopyProof, peer: string): void {
    const { disk, logger } = this.options;
    const { place, versions } = start as SavedStart;
    if (disk === undefined || place === undefined) return;
    this.trouble = reason;
    try {
      markOldCopy(disk.directory, this.originName, place, versions);
      logger.error({ peer }, `${reason}. Until then it counts and replicates with no region`);
    } catch (error) {
      logger.error(
        { err: error, peer },
        `${reason}. But old-copy.json could not be written: the peer shows it again then`,
      );
    }
  }

  private retain(segments: readonly number[]): void {
    const { disk, logger } = this.options;
    disk?.retain(segments).catch((error: Error) => {
      logger.warn({ err: error }, 'files that are not needed any more could not be removed from the data directory');
    });
  }
}
