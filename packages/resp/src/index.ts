/**
 * The Redis protocol: transports, connections, lanes, sessions and commands, over the engine, rate limits and quotas.
 *
 * `chooseTransport` starts lanes (threads that serve clients, each with an epoll loop) or node:net on the main thread.
 * Bytes go socket → connection → session → command → engine, and all replies of a turn go back in one send. Lanes ask
 * the main thread for logins, disk, replication and quotas (`MainServices`), and each other for figures (`Questions`).
 *
 * Cost: INCR, INCRBY, GET, WINDOW.INCRBY and PING allocate nothing; a silent connection costs about 10 KB.
 * Bounds: --max-clients connections; per client the query and output buffer limits; 64 KiB per read; 5 ms of costly
 * commands or 256 KiB of replies per turn; 512 MiB per argument; every wait for another thread is bounded.
 */

// Commands.
export { commands } from './command-table/commands.js';
export { findUnknownCommands } from './command-table/taken-commands.js';
export { counterCommands } from './commands/counters/index.js';
export { Glob, keyFilter } from './commands/keys/glob.js';
export { keyCommands } from './commands/keys/index.js';
export { KeyWalk } from './commands/keys/key-walk.js';
export { errors } from './errors/errors.js';
// Lanes, transports and sessions.
export { chooseTransport, scriptLogger } from './lanes/choose-transport.js';
export { createState } from './lanes/create-state.js';
export type { SharedBoards } from './lanes/messages.js';
// Services of the main thread, and the memory it shares with lanes.
export { askDirectly, type ServiceHandlers } from './services/channel.js';
export { ClusterBoard, HELD, HERE, UNOWNED } from './services/cluster-board.js';
export { DiskBoard } from './services/disk-board.js';
export { type Refused, unreplicated } from './services/held-replies.js';
export type {
  ForwardAnswer,
  ForwardRequest,
  LaneCluster,
  OperationRequest,
  PoliciesRequest,
} from './services/lane-cluster.js';
export type { DiskRequest } from './services/lane-disk.js';
export type { LaneLimits, LeaseOfCheck, LimitAnswer, LimitCheck, LimitRequest } from './services/lane-limits.js';
export type { PublishedPolicies, QuotaAnswer, QuotaEvent, QuotaRequest, SharedChange } from './services/lane-quotas.js';
export type { LaneReplication, RegionAge, ReplicationAnswer, ReplicationRequest } from './services/lane-replication.js';
export type {
  AskMain,
  LoginAnswer,
  LoginAttempt,
  MainServices,
  MovingAnswer,
  MovingRequest,
} from './services/main-services.js';
export { ReplicationBoard } from './services/replication-board.js';
export {
  NO_PEER_FIGURES,
  type PeerDescription,
  type PeerFigures,
  type PeerState,
  type ReplicationDescription,
  type ShardLag,
} from './services/replication-description.js';
export { ScriptBoard } from './services/script-board.js';
export type { Command } from './session/command.js';
export { Lane } from './session/lane.js';
export type { Hottest, QuestionName, Questions } from './session/questions.js';
export type { ServerState } from './session/server-state.js';
export { Session } from './session/session.js';
// Figures and time.
export { addFigures, type Figures } from './statistics/figures.js';
export { type HotIdentifier, mergeHottest } from './statistics/hot-identifiers.js';
export { addLimits, type DecisionsByLimit, LimitStatistics, scopeOfLimit } from './statistics/limit-statistics.js';
export { processMemory } from './statistics/process-memory.js';
export { RateStatistics } from './statistics/rate-statistics.js';
export type { SlowCommand } from './statistics/slowlog.js';
export { addTakes, TakeStatistics, type TakesByQuota } from './statistics/take-statistics.js';
export { type Clock, systemClock, systemMonotonicMs } from './time/clock.js';
export { GuardedClock } from './time/guarded-clock.js';
export type { Transport } from './transport/transport.js';
