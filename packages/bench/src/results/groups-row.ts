import type { MachineDescription } from '../machine/describe.js';
import type { RunStamp } from './stamp.js';
import type { Summary } from './summary.js';

/** A row of bench/results/groups: the same keys and load on this number of groups. */
export interface GroupsRow extends RunStamp, NodesFigures {
  readonly machine: MachineDescription;
  /** Of the machine, over a minute, when the row was measured. */
  readonly loadAverage: number;
  readonly groups: number;
  /** In all groups together. */
  readonly keys: number;
  readonly client: string;
  readonly pipeline: number;
  /** For each group: every node is as busy as one alone. */
  readonly connections: number;
  /** A stock Redis Cluster of as many masters; rows from before it was measured have none. */
  readonly redis?: NodesFigures;
}

/** What all nodes of one side came to. */
export interface NodesFigures {
  /** Of the node that holds most: what its keys take, without what an empty server has. */
  readonly bytesPerNode: Summary;
  readonly throughputPerSecond: Summary;
  /** Of all servers together. */
  readonly serverCpuMicrosecondsPerOperation: Summary;
}
