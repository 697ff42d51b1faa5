import type { Access } from './access/access.js';
import type { Door } from './access/door.js';
import type { Clock } from './clock.js';
import type { Configuration } from './config/table.js';
import type { DiskLink } from './durability/disk-link.js';
import type { Lanes } from './lanes/lanes.js';
import type { QuotaLink } from './quotas/quota-link.js';
import type { ReplicationLink } from './replication/replication-link.js';
import type { Clients } from './session/clients.js';
import type { CommandDirectory } from './session/command-index.js';
import type { LatencyMonitor } from './statistics/latency-monitor.js';
import type { Slowlog } from './statistics/slowlog.js';
import type { Statistics } from './statistics/statistics.js';

/** What all connections of one lane share. */
export interface ServerState {
  readonly identity: Identity;
  /** CONFIG SET changes it in place. */
  readonly config: Configuration;
  readonly clock: Clock;
  /** Who may do what. */
  readonly access: Access;
  /** The way to where passwords are checked. */
  readonly door: Door;
  readonly commands: CommandDirectory;
  readonly clients: Clients;
  readonly statistics: Statistics;
  readonly slowlog: Slowlog;
  readonly latency: LatencyMonitor;
  /** The way to the other lanes, whose clients and figures are their own. */
  readonly lanes: Lanes;
  /** The way to the disk, if there is one. */
  readonly disk: DiskLink;
  /** The way to the thread that replicates. */
  readonly replication: ReplicationLink;
  /** The policies, and the way to the thread that keeps tokens. */
  readonly quotas: QuotaLink;
}

/** Who this server is; fixed when it starts, but for the ports, which are known once it listens. */
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
  /** Undefined where other regions are not listened to. */
  replicationPort: number | undefined;
}
