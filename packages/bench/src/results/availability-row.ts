import type { MachineDescription } from '../machine/describe.js';
import type { RunStamp } from './stamp.js';

/** A row of bench/results/availability: kills of one store, as clients saw them. */
export interface AvailabilityRow extends RunStamp {
  readonly machine: MachineDescription;
  /** Of the machine, over a minute, when the row was measured: other work makes the times longer. */
  readonly loadAverage: number;
  readonly side: string;
  readonly version: string;
  readonly servers: number;
  readonly clients: number;
  /** By kill: the longest time between two successful writes of a client, of the client that waited longest. */
  readonly longestGapsMs: readonly number[];
  /** By kill: the same of the median client. */
  readonly medianGapsMs: readonly number[];
  readonly acknowledgedWrites: number;
  /** Acknowledged, and not there when the store was whole again, or at once where the side promises that. */
  readonly lostWrites: number;
  /** Writes that clients saw fail. */
  readonly failedWrites: number;
}
