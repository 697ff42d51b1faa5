/** What can be tuned. Times are in milliseconds of the monotonic clock. */
export interface ReplicationSettings {
  /** Components in one batch: the time a shard's lock is held for it, on both sides, is in proportion. */
  readonly partComponents: number;
  readonly partKeyBytes: number;
  /** The most that is made for one peer at one tick: everybody else waits for it. */
  readonly tickBytes: number;
  /** How often each side says how far it has come with everything while something moves, and when nothing does. */
  readonly statusIntervalMs: number;
  readonly idleStatusIntervalMs: number;
  readonly pingIntervalMs: number;
  /** A peer that says nothing for so long is taken for gone. */
  readonly silenceMs: number;
  readonly digestIntervalMs: number;
  /** Shards whose digests go into one frame. */
  readonly digestShards: number;
  /** Beyond two round trips: what was sent should be acknowledged by then, or it waits in a queue (outgoing-feed.ts). */
  readonly patienceMs: number;
  /** Something should have come and did not: ask for it again. */
  readonly stallMs: number;
  /** A peer that was away for so long is not waited for any more when something is forgotten; it is repaired when it is back. */
  readonly forgetAfterMs: number;
  /** Clocks may differ by so much; more is reported. */
  readonly skewBoundMs: number;
}

export const DEFAULT_SETTINGS: ReplicationSettings = {
  partComponents: 256,
  partKeyBytes: 32 * 1024,
  tickBytes: 1024 * 1024,
  statusIntervalMs: 200,
  idleStatusIntervalMs: 1000,
  pingIntervalMs: 1000,
  silenceMs: 5000,
  digestIntervalMs: 1000,
  digestShards: 8,
  patienceMs: 40,
  stallMs: 2000,
  forgetAfterMs: 3_600_000,
  skewBoundMs: 120_000,
};
