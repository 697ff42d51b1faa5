/** Tunables of replication. Times are in milliseconds of the monotonic clock. */
export interface ReplicationSettings {
  /** Components in one batch: the time a shard's lock is held for it, on both sides, is in proportion. */
  readonly partComponents: number;
  readonly partKeyBytes: number;
  /** Bytes encoded for one peer at one tick, at most: the other peers wait for it. */
  readonly tickBytes: number;
  /** A change of a region waits there for this long before it is sent, at most: for other changes, and for the disk. */
  readonly sendWithinMs: number;
  /** How often each side reports all its watermarks while one of them moves, and while none does. */
  readonly statusIntervalMs: number;
  readonly idleStatusIntervalMs: number;
  readonly pingIntervalMs: number;
  /** A link on which no frame comes for this long is closed. */
  readonly silenceMs: number;
  /**
   * How long a region's name belongs to a process that was heard through other regions. Each of them adds the interval
   * of its pings and that of its reports to the age of a report: this is enough for four in a row.
   */
  readonly nameLeaseMs: number;
  readonly digestIntervalMs: number;
  /** Shards whose digests go into one frame. */
  readonly digestShards: number;
  /** How often resets are looked for that their owner has answered while this node was away (unanswered-resets.ts). */
  readonly resetIntervalMs: number;
  /** Added to two round trips: a walk should be acknowledged by then, or it waits in a queue (outgoing-stream.ts). */
  readonly patienceMs: number;
  /** A stream that should move and has not for this long is requested again. */
  readonly stallMs: number;
  /**
   * Garbage collection stops waiting for a peer that is away for this long; anti-entropy repairs it when it is back.
   */
  readonly giveUpAfterMs: number;
  /** A larger difference between two wall clocks is reported. */
  readonly skewBoundMs: number;
}

export const DEFAULT_SETTINGS: ReplicationSettings = {
  partComponents: 256,
  partKeyBytes: 32 * 1024,
  tickBytes: 1024 * 1024,
  sendWithinMs: 10,
  statusIntervalMs: 200,
  idleStatusIntervalMs: 1000,
  pingIntervalMs: 1000,
  silenceMs: 5000,
  nameLeaseMs: 10_000,
  digestIntervalMs: 1000,
  digestShards: 8,
  resetIntervalMs: 600_000,
  patienceMs: 40,
  stallMs: 2000,
  giveUpAfterMs: 3_600_000,
  skewBoundMs: 120_000,
};
