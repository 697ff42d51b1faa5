import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import { type ClockWatch, nameOfOrigin } from '@quotadb/replication';
import type { GrpcNetwork, Mesh } from '@quotadb/replication/mesh';
import { type ReplicationBoard, type ReplicationDescription, systemMonotonicMs } from '@quotadb/resp';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { ResyncTraces } from '../tracing/trace-resyncs.js';
import { describePeers, logCopying } from './describe.js';
import type { Journal } from './journal.js';
import { viewRegions } from './regions.js';
import type { StartKeeper } from './start-keeper.js';

/** The least time between two updates of the ages on the board, and of the description, which is long. */
const AGES_INTERVAL_MS = 20;
const DESCRIPTION_INTERVAL_MS = 250;
/** How often a long first copy logs its progress. */
const PROGRESS_INTERVAL_MS = 2000;
const REPLICA_ID_DIGITS = 32;

interface ReporterOptions {
  readonly config: Configuration;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly origin: Uint8Array;
  readonly board: ReplicationBoard;
  readonly mesh: Mesh;
  readonly network: GrpcNetwork;
  readonly journal: Journal;
  readonly starts: StartKeeper;
  readonly resyncs: ResyncTraces;
  readonly clockWatch: ClockWatch;
  /** Regions that were removed: they are not shown. */
  readonly removed: ReadonlySet<string>;
  /** Called when acknowledgements have come and a session waits for some. */
  readonly onAcknowledged: () => void;
}

/** Reports how replication goes: to lanes on the board, to the operator in the log and in traces. */
export class Reporter {
  private readonly options: ReporterOptions;
  private agesAtMs = Number.NEGATIVE_INFINITY;
  private describedAtMs = Number.NEGATIVE_INFINITY;
  private progressAtMs = Number.NEGATIVE_INFINITY;
  private hasAcknowledgements = false;
  private publishing: NodeJS.Immediate | undefined = undefined;
  private describing: NodeJS.Timeout | undefined = undefined;
  private port = -1;
  private shownRegions: readonly string[] = [];

  constructor(options: ReporterOptions) {
    this.options = options;
  }

  /** At every tick: each report in its interval. */
  tick(): void {
    const { mesh, clockWatch } = this.options;
    const nowMs = systemMonotonicMs();
    if (this.hasAcknowledgements) this.publishAcknowledged();
    if (nowMs - this.agesAtMs < AGES_INTERVAL_MS) return;
    this.publishAges(nowMs);
    if (nowMs - this.describedAtMs < DESCRIPTION_INTERVAL_MS) return;
    this.describe();
    if (mesh.replica !== undefined) clockWatch.check(mesh.replica);
    this.logProgress(nowMs);
  }

  /** Sessions that wait get acknowledgements before the next tick; those of one turn of the loop go out together. */
  acknowledged(): void {
    this.hasAcknowledgements = true;
    if (!this.options.board.isAwaited) return;
    this.publishing ??= setImmediate(() => {
      this.publishing = undefined;
      this.publishAcknowledged();
    });
  }

  publishNow(): void {
    this.publishAcknowledged();
    this.publishAges(systemMonotonicMs());
    this.describe();
  }

  /** At most one update per interval, however many connections are turned away. */
  describeSoon(): void {
    this.describing ??= setTimeout(() => {
      this.describing = undefined;
      this.describe();
    }, DESCRIPTION_INTERVAL_MS);
  }

  /** Peers can dial this port. */
  listening(port: number): void {
    this.port = port;
    this.describe();
  }

  stop(): void {
    clearTimeout(this.describing);
  }

  private publishAcknowledged(): void {
    const { board, mesh, onAcknowledged } = this.options;
    const { replica } = mesh;
    if (replica === undefined) return;
    this.hasAcknowledgements = false;
    const acknowledged = [...replica.members.values()].map((member) => member.seen.find(replica.ownName));
    board.publish(() => board.setMembers(acknowledged));
    if (board.isAwaited) onAcknowledged();
  }

  private publishAges(nowMs: number): void {
    const { board, mesh, removed, resyncs } = this.options;
    const { replica } = mesh;
    if (replica === undefined) return;
    this.agesAtMs = nowMs;
    resyncs.check(replica, nowMs);
    const views = viewRegions(replica, removed, nowMs);
    board.publish(() => board.setRegions(views.map(({ asOfMs }) => asOfMs)));
    const isSame =
      views.length === this.shownRegions.length && views.every(({ region }, at) => region === this.shownRegions[at]);
    if (isSame) return;
    this.shownRegions = views.map(({ region }) => region);
    this.describe();
  }

  private describe(): void {
    const { board } = this.options;
    this.describedAtMs = systemMonotonicMs();
    const description = this.description();
    board.publish(() => board.setDescription(description));
  }

  private description(): ReplicationDescription {
    const { config, origin, mesh, network, journal, starts } = this.options;
    const name = nameOfOrigin(origin);
    return {
      cluster: config.cluster,
      region: serverName(config),
      replicaId: name.slice(0, REPLICA_ID_DIGITS),
      incarnation: name.slice(REPLICA_ID_DIGITS),
      isActive: mesh.replica !== undefined,
      oldCopy: starts.trouble,
      isEncrypted: network.isEncrypted,
      port: this.port,
      peers: describePeers(mesh, journal),
      regions: this.shownRegions,
      refusals: journal.refusals,
      faults: journal.faults,
    };
  }

  private logProgress(nowMs: number): void {
    const { mesh, journal, engine, logger } = this.options;
    if (nowMs - this.progressAtMs < PROGRESS_INTERVAL_MS) return;
    this.progressAtMs = nowMs;
    logCopying(describePeers(mesh, journal), engine.keyCount(), logger);
  }
}
