/** Bucket n holds batches of up to 2^n components, the last one all that are larger. */
export const BATCH_SIZE_BUCKETS = 14;

/** The counters of one link, shown by INFO and metrics. */
export class LinkFigures {
  framesIn = 0;
  framesOut = 0;
  bytesIn = 0;
  bytesOut = 0;
  batchesIn = 0;
  batchesOut = 0;
  componentsIn = 0;
  componentsOut = 0;
  /** Batches sent, by their size. */
  readonly batchSizesOut: number[] = Array.from({ length: BATCH_SIZE_BUCKETS }, () => 0);
  gaps = 0;
  outOfMemory = 0;
  /** Frames with a number dated too far ahead of this node's time (engine/batches/batch-gate.ts): none was applied. */
  framesAhead = 0;
  /** Ranges that were compared key by key, and the components that this repaired. */
  rangesCompared = 0;
  componentsDropped = 0;
  componentsResent = 0;
  digestsCompared = 0;
  digestMismatches = 0;
  /** From the last ping to its pong; -1 = not measured yet. */
  roundTripMs = -1;
  /** The lowest of all is the time on the network; what longer ones took beyond it was spent in queues. */
  lowestRoundTripMs = -1;
  /** How far the peer's wall clock is ahead. */
  skewMs = 0;
  /** The peer's wall clock less this node's monotonic one, which is never set; 0 before the first answer. */
  clockMs = 0;

  noteBatchOut(components: number): void {
    this.batchesOut++;
    this.componentsOut += components;
    const bucket = components <= 1 ? 0 : 32 - Math.clz32(components - 1);
    this.batchSizesOut[Math.min(bucket, BATCH_SIZE_BUCKETS - 1)]++;
  }

  noteRoundTrip(roundTripMs: number): void {
    this.roundTripMs = roundTripMs;
    if (this.lowestRoundTripMs === -1 || roundTripMs < this.lowestRoundTripMs) this.lowestRoundTripMs = roundTripMs;
  }
}
