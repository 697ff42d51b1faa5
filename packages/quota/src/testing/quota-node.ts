import { Acknowledgements, Batch, batchSince, Engine, OWN_ORIGIN, Restore } from '@quotadb/engine';
import { type Link, Replica, replicaIdOf } from '@quotadb/replication';
import { decodeFrame, encodeBatch, FrameKind } from '@quotadb/wire';
import { AllotmentKey } from '../allotment.js';
import { Leases } from '../leases.js';
import { Operations } from '../operations.js';
import { type Policy, windowAt, windowEndMs } from '../policy.js';
import { PolicyBook, type SavedBook } from '../policy-book.js';
import type { PolicySet } from '../policy-set.js';
import { checkReaches, type Reach, Routes } from '../routes.js';
import { TokenBroker } from '../token-broker.js';

/** What of a node outlives a crash: what it had written before. */
export interface TestDisk {
  readonly batches: Uint8Array[];
  readonly incarnation: number;
  book: SavedBook | undefined;
}

export interface QuotaNodeOptions {
  readonly region: string;
  readonly home: string;
  readonly incarnation: number;
  readonly nowMs: () => number;
  /** Time that never jumps; the clock where it is left out. */
  readonly monotonicMs?: () => number;
  readonly skewBoundMs: number;
  readonly disk?: TestDisk;
}

export interface Taken {
  readonly region: string;
  readonly allotment: string;
  readonly cost: number;
}

const SHARDS = 4;

/** One region: an engine, replication, a broker, and a disk that is a list of batches. */
export class QuotaNode {
  readonly region: string;
  readonly origin = new Uint8Array(32);
  readonly engine: Engine;
  readonly replica: Replica;
  readonly broker: TokenBroker;
  readonly leases: Leases;
  readonly book: PolicyBook;
  readonly links = new Map<string, Link>();
  private readonly routes: Routes<Link>;
  private readonly options: QuotaNodeOptions;
  private readonly durable = new Float64Array(SHARDS);
  private readonly written: Float64Array[] = [];
  private readonly key = new AllotmentKey();
  allowed: Taken[] = [];
  deniedCount = 0;

  constructor(options: QuotaNodeOptions) {
    this.options = options;
    const { region, home, disk, skewBoundMs } = options;
    this.region = region;
    this.routes = new Routes(region);
    this.origin.set(replicaIdOf('test', region));
    this.origin[31] = options.incarnation + 1;
    this.engine = Engine.format({
      maxMemoryBytes: 4 * 1024 * 1024,
      origin: this.origin,
      nowMs: options.nowMs(),
      shardCount: SHARDS,
      expiryGraceMs: 2 * skewBoundMs,
    });
    if (disk !== undefined) this.restore(disk);
    this.book = new PolicyBook({
      home,
      region,
      incarnation: Buffer.from(this.origin).toString('hex'),
      isNewIncarnation: disk?.book === undefined,
      hasDisk: disk !== undefined,
      nowMs: options.nowMs(),
      skewBoundMs,
      isAlone: false,
      ...(disk?.book && { saved: disk.book }),
      save: (saved) => {
        if (disk !== undefined) disk.book = saved;
      },
    });
    const durable = disk === undefined ? undefined : (shard: number) => this.durable[shard];
    this.replica = new Replica({
      engine: this.engine,
      identity: { cluster: 'test', region, origin: this.origin, agreements: [] },
      clock: { monotonicMs: options.nowMs, wallMs: options.nowMs },
      acknowledgements: new Acknowledgements(this.engine),
      ...(durable && { durable }),
      events: {
        established: (link) => {
          this.links.set(link.region, link);
          this.routes.add(link.region, link.origin, link);
          this.tellAll();
        },
        closed: (link) => {
          if (this.links.get(link.region) !== link) return;
          this.links.delete(link.region);
          this.routes.remove(link.region, link);
          this.tellAll();
        },
        quota: (link, frame) => {
          if (frame.kind === FrameKind.tokensWanted || frame.kind === FrameKind.tokensAnswer) this.broker.hear(frame);
          else if (frame.kind === FrameKind.policies) this.hear(link, JSON.parse(Buffer.from(frame.body).toString()));
        },
      },
    });
    this.broker = new TokenBroker({
      engine: this.engine,
      region,
      origin: this.origin,
      book: this.book,
      skewBoundMs,
      monotonicMs: options.nowMs,
      peers: {
        regions: () => this.routes.regions(),
        originOf: (other) => this.routes.originOf(other),
        send: (other, frame) => this.routes.next(other)?.link.send(frame),
      },
      ...(durable && { durable }),
    });
    const { engine, book, broker } = this;
    const monotonicMs = options.monotonicMs ?? options.nowMs;
    const operations = new Operations({ engine, book, broker, monotonicMs });
    let leases = 0;
    this.leases = new Leases({ operations, monotonicMs, newId: () => `${++leases}@${region}` });
  }

  get hasDisk(): boolean {
    return this.options.disk !== undefined;
  }

  define(name: string, limit: number, windowMs: number, allocator: string, leaseMs = 0): void {
    const definition = { name, limit, windowMs, leaseMs, allocator, shares: [], waitMs: 1000 };
    this.book.define(definition, this.engine.nowMs, (other) => {
      const way = this.routes.way(other);
      return way && { incarnation: way.origin, hasDisk: true };
    });
    this.tellAll();
  }

  private hear(link: Link, { set, reaches }: { set: PolicySet | null; reaches: readonly Reach[] }): void {
    const hasOtherWays = this.routes.hear(link.region, true, checkReaches(reaches));
    const isNews = set === null ? this.book.begin() : this.book.adopt(set);
    if (hasOtherWays || isNews) this.tellAll();
  }

  private tellAll(): void {
    const { set, version } = this.book;
    for (const link of this.links.values()) {
      const body = Buffer.from(JSON.stringify({ set: set ?? null, reaches: this.routes.tell(link.region) }));
      link.send({ kind: FrameKind.policies, version, body });
    }
  }

  tick(): void {
    this.engine.advanceTo(this.options.nowMs());
    this.replica.tick();
    this.broker.tick();
    this.leases.tick();
    this.engine.expireSome(100);
  }

  /** As a lane does it. */
  take(name: string, subject: string, cost: number): void {
    const policy = this.book.named(name);
    if (policy === undefined) return;
    const window = windowAt(policy, this.engine.nowMs);
    const bytes = Uint8Array.from(Buffer.from(subject));
    if (this.tryTake(policy, window, bytes, cost, false)) return;
    this.broker.demand({ policy: policy.number, window, subject: bytes }, cost, 5000, () => {
      if (!this.tryTake(policy, window, bytes, cost, true)) this.deniedCount++;
    });
  }

  /** True when it is decided. */
  private tryTake(policy: Policy, window: number, subject: Uint8Array, cost: number, isLast: boolean): boolean {
    const { pockets } = this.broker.ledger;
    // A window that has ended by the deciding clock is not spent from any more.
    if (isLast && this.engine.nowMs >= windowEndMs(policy, window)) return false;
    const { input, length } = this.key.marks(policy.number, window, subject, 0, subject.length);
    pockets.open(input, 0, length);
    const isTaken = pockets.take(cost);
    const isDenied = !isTaken && pockets.deniedUntilMs > this.engine.nowMs;
    pockets.close();
    if (isTaken)
      this.allowed.push({ region: this.region, allotment: `${policy.number}:${window}:${Buffer.from(subject)}`, cost });
    if (isDenied && !isLast) this.deniedCount++;
    return isTaken || (isDenied && !isLast);
  }

  /** Everything behind the watermarks, as the log does it. */
  flush(): void {
    const { disk } = this.options;
    if (disk === undefined) return;
    const batch = new Batch();
    for (let shard = 0; shard < SHARDS; shard++) {
      for (let origin = this.engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
        this.written[origin] ??= new Float64Array(SHARDS);
        const start = this.written[origin][shard];
        if (this.engine.seen(shard, origin) <= start) continue;
        for (let from = start; ; from = batch.reached) {
          batchSince(this.engine, shard, origin, from, batch, undefined, start);
          disk.batches.push(encodeBatch(batch));
          if (batch.to !== 0 || batch.count === 0) break;
        }
        this.written[origin][shard] = batch.to;
        if (origin === OWN_ORIGIN) this.durable[shard] = batch.to;
      }
    }
  }

  private restore(disk: TestDisk): void {
    const restore = new Restore(this.engine);
    for (const bytes of disk.batches) {
      const frame = decodeFrame(bytes);
      if (frame.kind === FrameKind.batch) restore.apply(frame.batch);
    }
    restore.finish(this.options.nowMs());
    for (let origin = 0; origin < this.engine.origins.count; origin++) {
      this.written[origin] = Float64Array.from({ length: SHARDS }, (_, shard) => this.engine.seen(shard, origin));
    }
    this.durable.set(this.written[OWN_ORIGIN]);
  }
}
