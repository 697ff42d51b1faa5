import { type Configuration, defaultConfiguration } from '@quotadb/config';
import { Acknowledgements, Engine, OWN_ORIGIN } from '@quotadb/engine';
import {
  type Link,
  type LinkTransport,
  nameOfOrigin,
  REPLICA_ID_BYTES,
  Replica,
  type ReplicationSettings,
  replicaIdOf,
} from '@quotadb/replication';
import { commands, createState, Lane } from '@quotadb/resp';
import { ManualClock, TestSession } from '@quotadb/resp/testing';
import type { Endpoint, Scheduler } from '@quotadb/simulator/parts';

const CLUSTER = 'rates';
/** As the server's pacemaker has it: looked at so often, and ticked without a reason so seldom. */
const BEAT_MS = 10;
const IDLE_TICK_MS = 250;
const EXPIRED_PER_TICK = 1_000;

export interface RegionOptions {
  readonly scheduler: Scheduler;
  readonly region: string;
  /** Of one name each has another. */
  readonly incarnation: number;
  readonly skewMs: number;
  readonly config: Partial<Configuration>;
  readonly settings: Partial<ReplicationSettings>;
  readonly maxMemoryBytes: number;
  readonly shardCount: number;
  readonly failed: (what: string) => void;
}

export interface Decision {
  readonly allowed: boolean;
  readonly remaining: number;
}

export interface CellsSeen {
  readonly startMs: number;
  readonly currentOwn: number;
  readonly currentForeign: number;
  readonly previousOwn: number;
  readonly previousForeign: number;
}

/**
 * A region from one start of its process to its end: the store, the commands and the replica of a server, driven by simulated
 * time. What is not there is the disk: who starts again is a new incarnation.
 */
export class SimulatedRegion implements Endpoint {
  readonly region: string;
  readonly origin: string;
  readonly engine: Engine;
  readonly replica: Replica;
  readonly options: RegionOptions;
  isRunning = true;
  skewMs: number;
  private readonly clock: ManualClock;
  private readonly session: TestSession;
  private isStirred = false;
  private tickedAtMs = Number.NEGATIVE_INFINITY;
  private readonly own: Float64Array;

  constructor(options: RegionOptions) {
    const { region, scheduler, shardCount, maxMemoryBytes } = options;
    this.options = options;
    this.region = region;
    this.skewMs = options.skewMs;
    this.clock = new ManualClock(this.wallMs());
    const origin = new Uint8Array(32);
    origin.set(replicaIdOf(CLUSTER, region));
    origin[REPLICA_ID_BYTES] = options.incarnation;
    this.origin = nameOfOrigin(origin);
    const config = { ...defaultConfiguration(), ...options.config };
    const { nowMs } = this.clock;
    const expiryGraceMs = config.clockSkewBoundMs;
    this.engine = Engine.format({ maxMemoryBytes, shardCount, origin, nowMs, expiryGraceMs });
    const acknowledgements = new Acknowledgements(this.engine);
    acknowledgements.joinPeers();
    const lane = new Lane({
      engine: this.engine,
      server: createState(config, this.clock, { commands }),
      maximumBulkBytes: 1024 * 1024,
      reportFault: (error) => options.failed(`${region}: ${(error as Error).stack}`),
    });
    this.session = new TestSession(lane);
    this.replica = new Replica({
      engine: this.engine,
      identity: { cluster: CLUSTER, region, origin, agreements: [] },
      clock: { monotonicMs: () => scheduler.nowMs, wallMs: () => this.wallMs() },
      acknowledgements,
      settings: options.settings,
      events: { fault: (_, error) => options.failed(`${region}: ${(error as Error).stack}`) },
    });
    this.own = new Float64Array(shardCount);
    this.beat();
  }

  open(carrier: LinkTransport, toRegion: string, isDialed: boolean): Link {
    const link = this.replica.open(carrier, { isDialed, address: toRegion });
    this.stir();
    return link;
  }

  /** Something has come in. */
  stir(): void {
    this.isStirred = true;
  }

  wallMs(): number {
    return Math.floor(this.options.scheduler.nowMs + this.skewMs);
  }

  /** The time that decisions are made at, which does not go back. */
  nowMs(): number {
    return Math.max(this.wallMs(), this.engine.nowMs);
  }

  rate(command: 'RATE.LIMIT' | 'RATE.ADD' | 'RATE.PEEK', key: string, limit: number, windowMs: number, cost: number) {
    const [allowed, , remaining] = this.call(command, key, limit, windowMs, cost);
    return { allowed: allowed === 1, remaining: remaining! } satisfies Decision;
  }

  cells(key: string, windowMs: number): CellsSeen {
    const [startMs, currentOwn, currentForeign, previousOwn, previousForeign] = this.call('RATE.CELLS', key, windowMs);
    return { startMs, currentOwn, currentForeign, previousOwn, previousForeign } as CellsSeen;
  }

  private call(...words: (string | number)[]): number[] {
    this.clock.nowMs = this.wallMs();
    const reply = this.session.call(...words);
    if (reply.startsWith('-')) this.options.failed(`${this.region}: ${words.join(' ')} → ${reply}`);
    return [...reply.matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
  }

  private beat(): void {
    if (!this.isRunning) return;
    const { scheduler } = this.options;
    if (this.isStirred || this.hasMoved() || scheduler.nowMs - this.tickedAtMs >= IDLE_TICK_MS) this.tick();
    scheduler.after(BEAT_MS, () => this.beat());
  }

  private tick(): void {
    this.isStirred = false;
    this.tickedAtMs = this.options.scheduler.nowMs;
    this.engine.advanceTo(this.wallMs());
    this.engine.expireSome(EXPIRED_PER_TICK);
    for (let shard = 0; shard < this.own.length; shard++) this.own[shard] = this.engine.seen(shard, OWN_ORIGIN);
    // What is left of a tick comes with the next beat.
    if (this.replica.tick()) this.isStirred = true;
  }

  private hasMoved(): boolean {
    return this.own.some((version, shard) => version !== this.engine.seen(shard, OWN_ORIGIN));
  }
}
