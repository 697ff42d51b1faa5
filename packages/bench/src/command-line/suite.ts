import { posix } from 'node:path';
import type { Cleanup } from '../machine/cleanup.js';
import type { RunStamp } from '../results/stamp.js';
import { type FlagTable, type HelpAppendix, integer, type Options, text, toggle } from './flags.js';

export interface Output {
  /** Results. */
  print(text: string): void;
  /** What the bench is doing meanwhile. */
  progress(text: string): void;
}

/** What a suite works with while it runs. */
export interface BenchRun<Row> extends Output {
  /** How every row of this run begins. */
  readonly stamp: RunStamp;
  /** Servers, directories and connections register here, and are gone when the run is over. */
  readonly cleanup: Cleanup;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Prints a row and keeps it for the history, even if a later one fails. */
  keep(row: Row): void;
}

/** One benchmark, as `quotadb bench NAME` runs it. The command line, the help and the history come from this. */
export interface Suite<Table extends FlagTable, Row> {
  /** The word after `quotadb bench`; empty for the suite that needs none. */
  readonly name: string;
  /** What it measures, for the help. */
  readonly summary: string;
  readonly flags: Table;
  readonly appendix?: HelpAppendix;
  /** Absent where a suite only prints. */
  readonly rows?: {
    /** Below bench/results. Rows of another shape have a folder of their own. */
    readonly folder: string;
    readonly format: (row: Row) => string;
  };
  readonly run: (options: Options<Table>, run: BenchRun<Row>) => Promise<void> | void;
}

/** A suite whose flags and rows only it knows, for the table of suites. */
export type AnySuite = Suite<FlagTable, RunStamp>;

export function defineSuite<Table extends FlagTable, Row extends RunStamp>(suite: Suite<Table, Row>): AnySuite {
  return suite as unknown as AnySuite;
}

/** Flags of several suites. */
export const sharedFlags = {
  rounds: integer('rounds of each side, by turns; medians are compared', [1, 1000], '3', '1'),
  redis: text('PATH', 'redis-server; looked for on the PATH'),
  quotadb: text('PATH', 'the quotadb program to measure; this one unless given'),
  noLimits: toggle('do not hold the servers to 2 CPUs and 2 GiB'),
  smoke: toggle('a short run that shows that everything works; its figures mean nothing and are not kept'),
};

/** Flags of every suite that has rows, which are kept in a folder below bench/results. */
export const rowFlags = (folder: string) => ({
  json: text('FILE', 'write the rows of this run to a file, as one JSON array'),
  results: text('DIR', `history of all runs; the repository's ${posix.join('bench/results', folder)}`),
});

export const helpFlag = { help: toggle('this text') };
