import { randomBytes } from 'node:crypto';
import type { Configuration } from '@quotadb/config';
import { Access, Need, QUOTADB_VERSION } from '@quotadb/config';
import { commands as allCommands } from '../command-table/commands.js';
import { LaneScripts } from '../scripts/lane-scripts.js';
import { ClusterBoard } from '../services/cluster-board.js';
import { DiskBoard } from '../services/disk-board.js';
import { LaneCluster } from '../services/lane-cluster.js';
import { LaneDisk } from '../services/lane-disk.js';
import { LaneLimits } from '../services/lane-limits.js';
import type { PublishedPolicies } from '../services/lane-quotas.js';
import { LaneQuotas } from '../services/lane-quotas.js';
import { LaneReplication } from '../services/lane-replication.js';
import { type AskMain, askWithoutMain } from '../services/main-services.js';
import { ReplicationBoard } from '../services/replication-board.js';
import { ScriptBoard } from '../services/script-board.js';
import { Clients } from '../session/clients.js';
import type { Command } from '../session/command.js';
import { buildCommandDirectory } from '../session/command-index.js';
import { Monitors } from '../session/monitors.js';
import { type Lanes, onlyLane } from '../session/questions.js';
import type { ServerState } from '../session/server-state.js';
import { LatencyMonitor } from '../statistics/latency-monitor.js';
import { Slowlog } from '../statistics/slowlog.js';
import { Statistics } from '../statistics/statistics.js';
import type { Clock } from '../time/clock.js';
import type { SharedBoards } from './messages.js';

/** The state of a new lane. */
export function createState(config: Configuration, clock: Clock, surroundings: Surroundings = {}): ServerState {
  const { commands = allCommands, lanes = onlyLane, ids = countingIds(), askMain = askWithoutMain } = surroundings;
  const { boards, policies, logScript = () => {} } = surroundings;
  const quotas = new LaneQuotas(policies, config.usageExport !== '');
  const directory = buildCommandDirectory(commands);
  const cluster = boards?.cluster && new LaneCluster(new ClusterBoard(boards.cluster), config.clusterForward === 'yes');
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
      rlsPort: undefined,
    },
    config,
    clock,
    access: new Access(config),
    askMain,
    commands: directory,
    clients: new Clients(ids.nextClientId, cluster === undefined ? 0 : Need.slot),
    monitors: new Monitors(lanes, clock),
    statistics: new Statistics(directory.entries.length, () => clock.monotonic()),
    slowlog: new Slowlog(ids.nextSlowlogId),
    latency: new LatencyMonitor(),
    lanes,
    disk: laneDisk(config, askMain, lanes, boards?.disk),
    replication: new LaneReplication(new ReplicationBoard(config.shardCount, boards?.replication), undefined, {
      servers: config.replicateBeforeReply,
      timeoutMs: config.replicateTimeoutMs,
      isOnEventLoop: lanes === onlyLane,
    }),
    quotas,
    limits: new LaneLimits(quotas, () => config.ratePublishPercent),
    cluster,
    scripts: new LaneScripts(new ScriptBoard(boards?.scripts), lanes.index, logScript),
    walks: { restUntilMs: 0 },
  };
}

function laneDisk(
  config: Configuration,
  askMain: AskMain,
  lanes: Lanes,
  board: SharedArrayBuffer | undefined,
): LaneDisk {
  if (board === undefined) return LaneDisk.none();
  return new LaneDisk(new DiskBoard(board), askMain, {
    isOn: true,
    holdsUntilSynced: config.fsync === 'always',
    submitsItself: lanes === onlyLane,
    lane: lanes.index,
  });
}

/** The surroundings of a lane, which differ between a server and a test; by default the lane is alone. */
export interface Surroundings {
  readonly commands?: readonly Command[];
  readonly lanes?: Lanes;
  readonly ids?: Ids;
  readonly askMain?: AskMain;
  readonly boards?: SharedBoards;
  readonly policies?: PublishedPolicies;
  /** Where redis.log of scripts goes; its levels are 0 for debug to 3 for warning. */
  readonly logScript?: (level: number, text: string) => void;
}

/** Ids that are unique in the process: all lanes draw from the same counters. */
export interface Ids {
  readonly nextClientId: () => number;
  readonly nextSlowlogId: () => number;
}

function countingIds(): Ids {
  let clients = 0;
  let slowCommands = 0;
  return { nextClientId: () => ++clients, nextSlowlogId: () => slowCommands++ };
}
