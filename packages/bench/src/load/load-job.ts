import type { KeyDistribution } from './key-sequence.js';
import type { Request } from './request.js';

/** What the load process is told to do; travels between processes as JSON. */
export interface LoadJob {
  readonly port: number;
  /** Whose CPU time to measure. */
  readonly serverPid: number;
  /** The requests to send over and over. */
  readonly pattern: readonly Request[];
  readonly keys: KeyDistribution;
  readonly keyCount: number;
  readonly seed: number;
  readonly pipeline: number;
  readonly connections: number;
  readonly warmupMs: number;
  /** The measured phase ends when either is reached; 0 where it does not end by that. */
  readonly measureMs: number;
  readonly measureOperations: number;
  /** Operations to begin per second, evenly spaced; 0 sends the next batch as soon as the last is answered. */
  readonly operationsPerSecond: number;
}

export interface LoadResult {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Undefined where the machine does not tell. */
  readonly serverCpuMicroseconds: number | undefined;
  readonly clientCpuMicroseconds: number | undefined;
}

export type LoadReport = { readonly result: LoadResult } | { readonly error: string };
