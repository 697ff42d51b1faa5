import type { MachineDescription } from '../machine/describe.js';
import type { MeasureName } from '../measure/measures.js';
import type { RunStamp } from './environment.js';
import type { Summaries } from './summary.js';

/**
 * A row of bench/results/*.ndjson: one scenario, all sides, everything needed to understand it years later. Rows stand
 * alone, so that files can be cut, joined and searched line by line.
 */
export interface ResultRow extends RunStamp {
  readonly machine: MachineDescription;
  readonly smoke: boolean;
  readonly workload: string;
  readonly description: string;
  /** 0 where the scenario is about memory. */
  readonly pipeline: number;
  readonly connections: number;
  readonly keys: number;
  readonly keyBytes: number;
  readonly client: string;
  readonly rounds: number;
  readonly warmupSeconds: number;
  /** 0 where a round ended by its operations, and the other way round. */
  readonly secondsPerRound: number;
  readonly operationsPerRound: number;
  readonly sides: Readonly<Record<string, Side>>;
  /** For every side but Redis: its median over Redis's. */
  readonly ratiosToRedis: Readonly<Record<string, Partial<Record<MeasureName, number>>>>;
}

export interface Side {
  readonly kind: string;
  readonly version: string;
  /** Options it was started with beyond the usual. */
  readonly serveArguments: readonly string[];
  readonly limits: string;
  /** What was sent, for instance `INCR {key}`. */
  readonly commands: string;
  readonly measures: Summaries;
}

/** What every ratio is to. */
export const BASELINE = 'redis';
