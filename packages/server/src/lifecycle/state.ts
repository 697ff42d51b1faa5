import { randomBytes } from 'node:crypto';
import { Access } from '../access/access.js';
import { closedDoor, type Door } from '../access/door.js';
import type { Clock } from '../clock.js';
import type { Command } from '../commands/command.js';
import { commands as allCommands } from '../commands/table.js';
import type { Configuration } from '../config/table.js';
import { DiskLink } from '../durability/disk-link.js';
import { type Lanes, onlyLane } from '../lanes/lanes.js';
import { QuotaLink } from '../quotas/quota-link.js';
import { ReplicationLink } from '../replication/replication-link.js';
import type { ServerState } from '../server-state.js';
import { Clients } from '../session/clients.js';
import { buildCommandDirectory } from '../session/command-index.js';
import { LatencyMonitor } from '../statistics/latency-monitor.js';
import { Slowlog } from '../statistics/slowlog.js';
import { Statistics } from '../statistics/statistics.js';
import { QUOTADB_VERSION } from '../version.js';

/** The state of a server that nothing has happened to yet. */
export function createState(config: Configuration, clock: Clock, surroundings: Surroundings = {}): ServerState {
  const { commands = allCommands, lanes = onlyLane, ids = countingIds(), door = closedDoor } = surroundings;
  const directory = buildCommandDirectory(commands);
  return {
    identity: {
      version: QUOTADB_VERSION,
      runId: randomBytes(20).toString('hex'),
      startedAtMs: clock.now(),
      processId: process.pid,
      transport: 'net',
      laneCount: 1,
      respPort: config.respPort,
      respTlsPort: undefined,
      httpPort: config.httpPort,
      internalHttpPort: undefined,
      replicationPort: undefined,
    },
    config,
    clock,
    access: new Access(config),
    door,
    commands: directory,
    clients: new Clients(ids.nextClientId),
    statistics: new Statistics(directory.entries.length, () => clock.monotonic()),
    slowlog: new Slowlog(ids.nextSlowlogId),
    latency: new LatencyMonitor(),
    lanes,
    disk: surroundings.disk ?? DiskLink.none(),
    replication: surroundings.replication ?? ReplicationLink.none(config.shardCount),
    quotas: surroundings.quotas ?? QuotaLink.none(),
  };
}

/** What differs between a lane, a server and a test; by default there is nobody else. */
export interface Surroundings {
  readonly commands?: readonly Command[];
  readonly lanes?: Lanes;
  readonly ids?: Ids;
  readonly disk?: DiskLink | undefined;
  readonly replication?: ReplicationLink;
  readonly quotas?: QuotaLink;
  readonly door?: Door;
}

/** Ids that are unique in the process; lanes draw them from one place. */
export interface Ids {
  readonly nextClientId: () => number;
  readonly nextSlowlogId: () => number;
}

function countingIds(): Ids {
  let clients = 0;
  let slowCommands = 0;
  return { nextClientId: () => ++clients, nextSlowlogId: () => slowCommands++ };
}
