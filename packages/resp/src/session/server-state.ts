import type { Access, Configuration } from '@quotadb/config';
import type { LaneCluster } from '../services/lane-cluster.js';
import type { LaneDisk } from '../services/lane-disk.js';
import type { LaneLimits } from '../services/lane-limits.js';
import type { LaneQuotas } from '../services/lane-quotas.js';
import type { LaneReplication } from '../services/lane-replication.js';
import type { AskMain } from '../services/main-services.js';
import type { LatencyMonitor } from '../statistics/latency-monitor.js';
import type { Slowlog } from '../statistics/slowlog.js';
import type { Statistics } from '../statistics/statistics.js';
import type { Clock } from '../time/clock.js';
import type { Clients } from './clients.js';
import type { CommandDirectory } from './command-index.js';
import type { Monitors } from './monitors.js';
import type { Lanes } from './questions.js';
import type { Scripts } from './scripts.js';

/** The state that all connections of one lane share. */
export interface ServerState {
  readonly identity: Identity;
  /** CONFIG SET changes it in place. */
  readonly config: Configuration;
  readonly clock: Clock;
  /** The users and their permissions. */
  readonly access: Access;
  /** Asks the main thread: passwords, the disk, replication, quotas. */
  readonly askMain: AskMain;
  readonly commands: CommandDirectory;
  readonly clients: Clients;
  readonly monitors: Monitors;
  readonly statistics: Statistics;
  readonly slowlog: Slowlog;
  readonly latency: LatencyMonitor;
  /** The other lanes, each with clients and figures of its own. */
  readonly lanes: Lanes;
  readonly disk: LaneDisk;
  readonly replication: LaneReplication;
  readonly quotas: LaneQuotas;
  readonly limits: LaneLimits;
  /** Undefined where all keys are here. */
  readonly cluster: LaneCluster | undefined;
  readonly scripts: Scripts;
  /** Walks over all keys on this lane rest until this time of the monotonic clock. */
  readonly walks: { restUntilMs: number };
}

/** The identity of this server; fixed at the start, except for the ports, which are known once it listens. */
export interface Identity {
  readonly version: string;
  /** Forty hexadecimal digits, new at every start. */
  readonly runId: string;
  readonly startedAtMs: number;
  readonly processId: number;
  transport: string;
  laneCount: number;
  respPort: number;
  /** Undefined where no client can use TLS. */
  respTlsPort: number | undefined;
  httpPort: number;
  /** Undefined where the internal part of the counts API has no port of its own. */
  internalHttpPort: number | undefined;
  /** Undefined where the server does not listen for other regions. */
  replicationPort: number | undefined;
  /** Undefined where the server does not serve Envoy's rate limit services. */
  rlsPort: number | undefined;
}
