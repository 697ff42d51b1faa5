import { DURATION_BUCKETS, durationBucket } from '@quotadb/engine';

/**
 * Calls and time per command, for INFO commandstats. Reading the clock around every command would cost more than some
 * commands do, so commands that are quick by nature are counted per batch, and the batch's time is shared out among
 * them; those whose cost grows with their arguments are timed one by one.
 */
export class CommandStatistics {
  readonly calls: Float64Array;
  readonly microseconds: Float64Array;
  /** Calls that were timed, by command and duration bucket, and the time they took. */
  readonly durations: Float64Array;
  readonly timedMicroseconds: Float64Array;
  /** Refused before they ran: wrong arity, no authentication. */
  readonly rejected: Float64Array;
  /** Ran and replied with an error. */
  readonly failed: Float64Array;

  private readonly batchCalls: Int32Array;
  private readonly batchCommands: Int32Array;
  private batchSize = 0;
  private batchCallCount = 0;
  private lastShare = 0;

  constructor(commandCount: number) {
    this.calls = new Float64Array(commandCount);
    this.microseconds = new Float64Array(commandCount);
    this.durations = new Float64Array(commandCount * DURATION_BUCKETS);
    this.timedMicroseconds = new Float64Array(commandCount);
    this.rejected = new Float64Array(commandCount);
    this.failed = new Float64Array(commandCount);
    this.batchCalls = new Int32Array(commandCount);
    this.batchCommands = new Int32Array(commandCount);
  }

  countInBatch(command: number): void {
    if (this.batchCalls[command]++ === 0) this.batchCommands[this.batchSize++] = command;
    this.batchCallCount++;
  }

  countTimed(command: number, microseconds: number): void {
    this.calls[command]++;
    this.microseconds[command] += microseconds;
    this.durations[command * DURATION_BUCKETS + durationBucket(microseconds)]++;
    this.timedMicroseconds[command] += microseconds;
  }

  /** Ends the batch, whose commands took this long together; returns how many there were. */
  closeBatch(microseconds: number): number {
    const callCount = this.batchCallCount;
    if (callCount === 0) return 0;
    this.lastShare = microseconds / callCount;
    this.recordDurations(this.lastShare);
    return this.shareOut(this.lastShare);
  }

  /** Ends a batch that nobody timed: its commands took as long as those of the last one that was. */
  closeUntimedBatch(): number {
    return this.shareOut(this.lastShare);
  }

  private recordDurations(share: number): void {
    const bucket = durationBucket(share);
    for (let index = 0; index < this.batchSize; index++) {
      const command = this.batchCommands[index];
      this.durations[command * DURATION_BUCKETS + bucket] += this.batchCalls[command];
      this.timedMicroseconds[command] += share * this.batchCalls[command];
    }
  }

  private shareOut(share: number): number {
    const callCount = this.batchCallCount;
    for (let index = 0; index < this.batchSize; index++) {
      const command = this.batchCommands[index];
      this.calls[command] += this.batchCalls[command];
      this.microseconds[command] += share * this.batchCalls[command];
      this.batchCalls[command] = 0;
    }
    this.batchSize = 0;
    this.batchCallCount = 0;
    return callCount;
  }

  reset(): void {
    this.calls.fill(0);
    this.microseconds.fill(0);
    this.durations.fill(0);
    this.timedMicroseconds.fill(0);
    this.rejected.fill(0);
    this.failed.fill(0);
  }
}
