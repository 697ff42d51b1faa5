import type { MachineDescription } from '../machine/describe.js';
import type { RunStamp } from './stamp.js';
import type { Summary } from './summary.js';

/** A row of bench/results/limits: a contest, and the figures of every side. */
export interface LimitsRow extends RunStamp {
  readonly machine: MachineDescription;
  readonly secondsPerRound: number;
  readonly rounds: number;
  readonly contest: string;
  readonly description: string;
  /** What the servers are held to, in words; rows before 18 November 2026 do not say it: nothing. */
  readonly limits?: string;
  readonly sides: Readonly<Record<string, LimitsSide>>;
  /** For every side that is compared with another of the same row: its medians over that one's. */
  readonly ratios?: Readonly<Record<string, LimitsRatio>>;
}

/** One round of a side. */
export interface LimitsRound {
  readonly operationsPerSecond: number;
  /** Of the process in which the client runs. */
  readonly clientCpuMicrosecondsPerOperation: number;
  /** Where only this side's operations reached a server during its round. */
  readonly serverCpuMicrosecondsPerOperation?: number;
  readonly p99Ms?: number;
}

export type LimitsSide = { readonly [Name in keyof LimitsRound]: Summary };

export interface LimitsRatio {
  /** The other side. */
  readonly to: string;
  readonly operationsPerSecond: number;
  readonly serverCpuMicrosecondsPerOperation?: number;
}
