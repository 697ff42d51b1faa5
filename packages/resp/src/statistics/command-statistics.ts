import { DURATION_BUCKETS, durationBucket } from '@quotadb/engine';

/**
 * Calls and time per command, for INFO commandstats. Reading the clock around every command would cost more than some
 * commands do, so quick commands are counted per turn of a session and share its time equally; commands whose cost
 * grows with their arguments are timed one by one.
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

  private readonly turnCalls: Int32Array;
  private readonly turnCommands: Int32Array;
  private turnSize = 0;
  private turnCallCount = 0;
  private lastShare = 0;

  constructor(commandCount: number) {
    this.calls = new Float64Array(commandCount);
    this.microseconds = new Float64Array(commandCount);
    this.durations = new Float64Array(commandCount * DURATION_BUCKETS);
    this.timedMicroseconds = new Float64Array(commandCount);
    this.rejected = new Float64Array(commandCount);
    this.failed = new Float64Array(commandCount);
    this.turnCalls = new Int32Array(commandCount);
    this.turnCommands = new Int32Array(commandCount);
  }

  countInTurn(command: number): void {
    if (this.turnCalls[command]++ === 0) this.turnCommands[this.turnSize++] = command;
    this.turnCallCount++;
  }

  countTimed(command: number, microseconds: number): void {
    this.calls[command]++;
    this.microseconds[command] += microseconds;
    this.durations[command * DURATION_BUCKETS + durationBucket(microseconds)]++;
    this.timedMicroseconds[command] += microseconds;
  }

  /** Ends a turn whose quick commands took this long together; returns their number. */
  endTurn(microseconds: number): number {
    const callCount = this.turnCallCount;
    if (callCount === 0) return 0;
    this.lastShare = microseconds / callCount;
    this.recordDurations(this.lastShare);
    return this.shareOut(this.lastShare);
  }

  /** Ends a turn that was not timed: its commands count as long as those of the last timed one. */
  endUntimedTurn(): number {
    return this.shareOut(this.lastShare);
  }

  private recordDurations(share: number): void {
    const bucket = durationBucket(share);
    for (let index = 0; index < this.turnSize; index++) {
      const command = this.turnCommands[index];
      this.durations[command * DURATION_BUCKETS + bucket] += this.turnCalls[command];
      this.timedMicroseconds[command] += share * this.turnCalls[command];
    }
  }

  private shareOut(share: number): number {
    const callCount = this.turnCallCount;
    for (let index = 0; index < this.turnSize; index++) {
      const command = this.turnCommands[index];
      this.calls[command] += this.turnCalls[command];
      this.microseconds[command] += share * this.turnCalls[command];
      this.turnCalls[command] = 0;
    }
    this.turnSize = 0;
    this.turnCallCount = 0;
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
