import { CommandStatistics } from './command-statistics.js';
import { ErrorStatistics } from './error-statistics.js';
import { LimitStatistics } from './limit-statistics.js';
import { RateSampler } from './rate-sampler.js';
import { RateStatistics } from './rate-statistics.js';
import { TakeStatistics } from './take-statistics.js';

/** The fields that are counted up, and added up over lanes. */
export const COUNTERS = [
  'connectionsReceived',
  'connectionsRejected',
  'commandsProcessed',
  'inputBytes',
  'outputBytes',
  'readsProcessed',
  'writesProcessed',
  'keyspaceHits',
  'keyspaceMisses',
  'outputLimitDisconnections',
  'queryLimitDisconnections',
  'expiryMicroseconds',
] as const;
export type CounterName = (typeof COUNTERS)[number];

/** The counts of INFO since the start, or since CONFIG RESETSTAT. */
export class Statistics {
  static readonly WINDOW_MS = 30_000;

  readonly commands: CommandStatistics;
  readonly errors = new ErrorStatistics();
  readonly operationRate = new RateSampler();
  readonly inputRate = new RateSampler();
  readonly outputRate = new RateSampler();
  readonly rates: RateStatistics;
  readonly takes: TakeStatistics;
  readonly limits: LimitStatistics;

  connectionsReceived = 0;
  connectionsRejected = 0;
  commandsProcessed = 0;
  inputBytes = 0;
  outputBytes = 0;
  readsProcessed = 0;
  writesProcessed = 0;
  /** Counters read that were there, and that were not. */
  keyspaceHits = 0;
  keyspaceMisses = 0;
  /** Clients closed because they did not read their replies, or sent too large a command. */
  outputLimitDisconnections = 0;
  queryLimitDisconnections = 0;
  /** The longest that one turn of the loop kept everything else waiting. */
  longestTurnMicroseconds = 0;
  /** Time in which the lane did not wait; kept by loops that know. */
  busyMicroseconds = 0;
  /** The same in processor time, without the time that other threads took from this one. */
  longestTurnProcessorMicroseconds = 0;
  expiryMicroseconds = 0;
  peakUsedBytes = 0;

  private windowLongest = 0;
  private lastWindowLongest = 0;
  private windowStartedAtMs = 0;

  constructor(commandCount: number, monotonicMs: () => number = () => performance.now()) {
    this.commands = new CommandStatistics(commandCount);
    this.rates = new RateStatistics(monotonicMs);
    this.takes = new TakeStatistics(monotonicMs);
    this.limits = new LimitStatistics(monotonicMs);
  }

  recordTurn(microseconds: number): void {
    if (microseconds > this.longestTurnMicroseconds) this.longestTurnMicroseconds = microseconds;
    if (microseconds > this.windowLongest) this.windowLongest = microseconds;
  }

  /** The longest turn of the last half minute to minute. */
  get recentLongestTurnMicroseconds(): number {
    return Math.max(this.windowLongest, this.lastWindowLongest);
  }

  recordTurnProcessor(microseconds: number): void {
    if (microseconds > this.longestTurnProcessorMicroseconds) this.longestTurnProcessorMicroseconds = microseconds;
  }

  sampleRates(nowMs: number): void {
    if (Math.abs(nowMs - this.windowStartedAtMs) >= Statistics.WINDOW_MS) {
      this.windowStartedAtMs = nowMs;
      this.lastWindowLongest = this.windowLongest;
      this.windowLongest = 0;
    }
    this.operationRate.sample(this.commandsProcessed, nowMs);
    this.inputRate.sample(this.inputBytes, nowMs);
    this.outputRate.sample(this.outputBytes, nowMs);
  }

  reset(): void {
    this.commands.reset();
    this.errors.reset();
    for (const name of COUNTERS) this[name] = 0;
    this.longestTurnMicroseconds = 0;
    this.longestTurnProcessorMicroseconds = 0;
    this.peakUsedBytes = 0;
    this.operationRate.reset();
    this.inputRate.reset();
    this.outputRate.reset();
    this.rates.reset();
    this.takes.reset();
    this.limits.reset();
  }
}
