import {
  type Allotment,
  FrameGate,
  type HoldRequest,
  KeptRecords,
  Leases,
  Operations,
  PolicyBook,
  type PolicySet,
  Repeats,
  Reservations,
  Routes,
  type SavedBook,
  type Seal,
  type Seals,
  type TakeAnswer,
  type TakeRequest,
  TokenBroker,
  textOfSet,
  writeEnvelope,
} from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import { FrameKind, type Policies, type QuotaFrame } from '@quotadb/wire';
import { errorOf } from '../world/disk.js';
import { CLUSTER, type NodeProcess, type ProcessService } from '../world/process.js';

/** The part of a node's policies that outlives its processes: the file beside its log. */
export interface BookStore {
  saved: SavedBook | undefined;
}

export interface QuotaServiceOptions {
  readonly process: NodeProcess;
  readonly home: string;
  readonly store: BookStore;
  readonly skewBoundMs: number;
  readonly newId: () => string;
  /** Regions forward requests for tokens. */
  readonly hasRoutes: boolean;
  /** Where regions have certificates. */
  readonly seals: Seals | undefined;
}

/** Shows the oracle the allotments of a reservation or a lease, which its answer does not name. */
class ObservedOperations extends Operations {
  /** Of the request that is being answered; undefined where it was denied. */
  answering: readonly Allotment[] | undefined = undefined;

  override take(request: TakeRequest, done: (answer: TakeAnswer) => void): void {
    super.take(request, (answer) => this.observe(answer, done));
  }

  override hold(request: HoldRequest, done: (answer: TakeAnswer) => void): void {
    super.hold(request, (answer) => this.observe(answer, done));
  }

  private observe(answer: TakeAnswer, done: (answer: TakeAnswer) => void): void {
    this.answering = 'isAllowed' in answer && answer.isAllowed ? answer.allotments : undefined;
    done(answer);
  }
}

/** The quotas of one process, put together from the same parts as in a server. */
export class QuotaService implements ProcessService {
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly operations: ObservedOperations;
  readonly reservations: Reservations;
  readonly leases: Leases;
  readonly repeats: Repeats<TakeAnswer>;
  readonly records: KeptRecords;
  readonly routes: Routes<Link>;
  readonly gate: FrameGate;
  /** By region: the links of this process. */
  readonly links = new Map<string, Link>();
  private readonly process: NodeProcess;
  private readonly hasRoutes: boolean;
  private readonly seals: Seals | undefined;

  constructor({ process, home, store, skewBoundMs, newId, hasRoutes, seals }: QuotaServiceOptions) {
    this.process = process;
    this.seals = seals;
    this.hasRoutes = hasRoutes;
    const { node, engine, disk } = process;
    const { region, origin, hasDisk } = node;
    const monotonicMs = () => process.monotonicMs();
    this.routes = new Routes(region);
    this.book = new PolicyBook({
      home,
      region,
      incarnation: process.origin,
      isNewIncarnation: store.saved === undefined,
      hasDisk,
      nowMs: engine.nowMs,
      skewBoundMs,
      isAlone: false,
      ...(store.saved && { saved: store.saved }),
      save: (book) => {
        if (!hasDisk) return;
        if (node.disk?.isFailing) throw errorOf('EIO');
        store.saved = JSON.parse(JSON.stringify(book)) as SavedBook;
      },
    });
    const { book, routes } = this;
    this.gate = new FrameGate({ region, book, cluster: CLUSTER, seals: () => seals });
    this.broker = new TokenBroker({
      engine,
      region,
      origin,
      book,
      skewBoundMs,
      monotonicMs,
      peers: {
        regions: () => routes.regions(),
        originOf: (other) => routes.originOf(other),
        send: (other, frame) => routes.next(other)?.link.send(frame),
      },
      ...(disk && { durable: (shard: number) => disk.durable(shard), flushSoon: () => process.flushSoon() }),
    });
    const operations = new ObservedOperations({ engine, book, broker: this.broker, monotonicMs });
    this.operations = operations;
    const records = new KeptRecords(engine);
    this.records = records;
    const held = { operations, monotonicMs, newId, records: hasDisk ? records : undefined };
    this.reservations = new Reservations(held);
    this.leases = new Leases(held);
    this.repeats = new Repeats({
      monotonicMs,
      nowMs: () => engine.nowMs,
      isDone: (answer) => 'isAllowed' in answer && answer.isAllowed,
      records,
    });
    if (!this.book.isContinued) return;
    this.reservations.restore();
    this.leases.restore();
  }

  tick(): void {
    this.guard(() => {
      this.reservations.tick();
      this.leases.tick();
      this.broker.tick();
    });
  }

  /** With an id it is done once, even if it is repeated. False if the id belongs to another operation. */
  take(id: string | undefined, request: TakeRequest, done: (answer: TakeAnswer) => void): boolean {
    let isFresh = true;
    this.guard(() => {
      if (id === undefined) this.operations.take(request, done);
      else {
        const payload = JSON.stringify(request.items.map(({ name, subject, cost }) => [name, `${subject}`, cost]));
        const work = (finish: (answer: TakeAnswer) => void) => this.operations.take(request, finish);
        const again = (): TakeAnswer => ({ isAllowed: true, standings: [], allotments: [] });
        isFresh = this.repeats.run({ id, payload, work, again }, done);
      }
    });
    return isFresh;
  }

  /** At the home. Throws a PolicyError where the definition is refused. */
  define(definition: Parameters<PolicyBook['define']>[0]): void {
    this.book.define(definition, this.process.engine.nowMs, (region) => {
      const way = this.routes.way(region);
      return way && { incarnation: way.origin, hasDisk: way.hasDisk };
    });
    this.policiesChanged();
  }

  drop(name: string): void {
    this.book.drop(name, this.process.engine.nowMs);
    this.policiesChanged();
  }

  // ---- other regions ------------------------------------------------------------------------------------------------

  established(link: Link): void {
    this.links.set(link.region, link);
    this.routes.add(link.region, link.origin, link);
    if (this.hasRoutes) this.sendAll();
    else this.send(link);
  }

  closed(link: Link): void {
    if (!this.routes.remove(link.region, link)) return;
    this.links.delete(link.region);
    if (this.hasRoutes) this.sendAll();
  }

  hear(link: Link, frame: QuotaFrame): void {
    this.guard(() => {
      if (frame.kind === FrameKind.policies) this.hearPolicies(link, frame);
      else if (frame.kind === FrameKind.tokensWanted || frame.kind === FrameKind.tokensAnswer) {
        const fault = this.gate.findTokenFault(link, frame);
        if (fault === undefined) this.broker.hear(frame);
        else this.refused(link, fault);
      }
    });
  }

  private hearPolicies(link: Link, frame: Policies): void {
    if (!this.links.has(link.region)) return;
    const { hasDisk, set, seal, reaches } = this.gate.openEnvelope(link, frame);
    const hasOtherRoutes = this.routes.hear(link.region, hasDisk, reaches);
    if (set === null ? this.book.begin() : this.adopt(link, set, seal)) this.policiesChanged();
    else if (hasOtherRoutes && this.hasRoutes) this.sendAll();
  }

  private adopt(link: Link, set: PolicySet, seal: Seal | undefined): boolean {
    const { book, gate } = this;
    const nowMs = this.process.node.wallMs();
    if (!book.isNews(set, nowMs)) return false;
    const fault = gate.findSetFault(link, set, seal, nowMs);
    if (fault === undefined) return book.adopt(set, nowMs, seal);
    this.refused(link, fault);
    return false;
  }

  private refused({ region }: Link, fault: string): void {
    this.process.node.cluster.said(`${this.process.label} refuses a frame of ${region}: ${fault}`);
  }

  private policiesChanged(): void {
    this.sendAll();
    this.broker.policiesChanged();
  }

  private sendAll(): void {
    for (const link of this.links.values()) this.send(link);
  }

  private send(link: Link): void {
    const { home, set } = this.book;
    const reaches = this.hasRoutes ? this.routes.reachesFor(link.region) : [];
    link.send(
      writeEnvelope({ home, hasDisk: this.process.node.hasDisk, set: set ?? null, seal: this.seal(), reaches }),
    );
  }

  private seal(): Seal | undefined {
    const { book, seals } = this;
    return book.isHome && book.set !== undefined && seals !== undefined ? seals.seal(textOfSet(book.set)) : book.seal;
  }

  /** As in a server: an error of the book's file ends the request that caused it, and nothing else. */
  guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.process.engine.releaseLocks();
      const { cluster } = this.process.node;
      if ((error as Error).message === 'EIO') cluster.said(`${this.process.label}: the book cannot be written`);
      else cluster.failed(`${this.process.label}: ${(error as Error).stack}`);
    }
  }
}

export function quotasOf(process: NodeProcess): QuotaService {
  return process.service as QuotaService;
}
