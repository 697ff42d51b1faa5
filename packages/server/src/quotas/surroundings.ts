import type { Refused } from '@quotadb/resp';

/** The parts of a server with loaded data that quotas use. */
export interface QuotaSurroundings {
  /** Undefined where there is no disk. */
  readonly disk:
    | {
        readonly durable: (shard: number) => number;
        readonly flushSoon: () => void;
        /** Resolves when the system has all changes so far: they outlive this process. */
        readonly write: () => Promise<void>;
        /** Resolves when the disk has them, as --fsync says. */
        readonly flush: () => Promise<void>;
      }
    | undefined;
  /** Resolves when every thread locks the shards: from then on the main thread may change keys too. */
  readonly share: () => Promise<void>;
  /**
   * Resolves when other servers hold all changes so far, with the reason where they do not in time; undefined without
   * --replicate-before-reply.
   */
  readonly whenReplicated: (() => Promise<Refused | undefined>) | undefined;
  /** The data was written when the clock was far ahead, and was dated anew at this time. */
  readonly reDatedAtMs?: number | undefined;
}
