import type { KeyDistribution } from './key-sequence.js';
import { INCREMENT, type Request } from './request.js';

/** The work of one load process; travels between processes as JSON. */
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
  /** Operations to begin per second, evenly spaced; 0 sends the next burst as soon as the last is answered. */
  readonly operationsPerSecond: number;
  /**
   * At such a rate the load sleeps between bursts, up to a millisecond too long: for loads beside servers that need the core,
   * and whose latencies are not measured. Otherwise it keeps turning, and takes a whole core at any rate.
   */
  readonly sleeps: boolean;
}

type Required = 'keyCount' | 'pipeline' | 'connections';

/** A job for a server: by default INCR of keys drawn evenly, as fast as it goes, without a warm-up. */
export function loadJob(
  server: { readonly port: number; readonly pid: number },
  settings: Pick<LoadJob, Required> & Partial<Omit<LoadJob, Required | 'port' | 'serverPid'>>,
): LoadJob {
  return {
    port: server.port,
    serverPid: server.pid,
    pattern: [INCREMENT],
    keys: 'uniform',
    seed: 0,
    warmupMs: 0,
    measureMs: 0,
    measureOperations: 0,
    operationsPerSecond: 0,
    sleeps: false,
    ...settings,
  };
}

export interface LoadResult {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Undefined where the machine keeps no such count. */
  readonly serverCpuMicroseconds: number | undefined;
  readonly clientCpuMicroseconds: number | undefined;
}

export type LoadReport = { readonly result: LoadResult } | { readonly error: string };
