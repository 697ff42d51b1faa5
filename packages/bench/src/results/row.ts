import { KEY_BYTES } from '../load/request.js';
import { describeMachine, type MachineDescription } from '../machine/describe.js';
import type { MeasureName } from './measures.js';
import type { RunStamp } from './stamp.js';
import { ratios, type Summaries } from './summary.js';

/**
 * A row of bench/results/*.ndjson: one scenario, all sides, with everything needed to understand it years later. Rows
 * stand alone, so that files can be cut, joined and searched line by line.
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
  /** The commands sent, for instance `INCR {key}`. */
  readonly commands: string;
  readonly measures: Summaries;
}

/** The side that every ratio is to. */
export const BASELINE = 'redis';

/** The client of every row whose load our own generator sent. */
export const OWN_CLIENT = 'quotadb-bench';

export type NamedSide = Side & { readonly name: string };

type Common = 'machine' | 'keyBytes' | 'sides' | 'ratiosToRedis' | 'client' | keyof RunStamp;

/** A row of this run and machine, with the ratio of every side to Redis where Redis took part. */
export function makeRow(
  stamp: RunStamp,
  scenario: Omit<ResultRow, Common> & { readonly client?: string },
  sides: readonly NamedSide[],
): ResultRow {
  const baseline = sides.find(({ name }) => name === BASELINE);
  const others = baseline === undefined ? [] : sides.filter((side) => side !== baseline);
  return {
    ...stamp,
    machine: describeMachine(),
    keyBytes: KEY_BYTES,
    client: OWN_CLIENT,
    ...scenario,
    sides: Object.fromEntries(sides.map(({ name, ...side }) => [name, side])),
    ratiosToRedis: Object.fromEntries(others.map(({ name, measures }) => [name, ratios(measures, baseline!.measures)])),
  };
}
