import {
  type Allotment,
  type CatalogueReader,
  FrameGate,
  type HoldRequest,
  KeptRecords,
  Leases,
  type Ledger,
  Operations,
  type Policy,
  PolicyBook,
  type PolicySet,
  type Refunded,
  Refunds,
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
import { Remints } from './remints.js';

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
  /** Nodes that have left for good. */
  readonly removed: () => ReadonlySet<string>;
  /** This process has admitted tokens beyond the limit, which can be spent. */
  readonly admitted: (allotment: Allotment, amount: number) => void;
  /** Where policies come from a catalogue of limits. */
  readonly catalogue?: CatalogueReader;
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
  readonly refunds: Refunds;
  readonly repeats: Repeats<TakeAnswer>;
  readonly records: KeptRecords;
  readonly routes: Routes<Link>;
  readonly gate: FrameGate;
  readonly remints: Remints;
  /** By region: the links of this process. */
  readonly links = new Map<string, Link>();
  private readonly process: NodeProcess;
  private readonly hasRoutes: boolean;
  private readonly seals: Seals | undefined;
  private readonly removed: () => ReadonlySet<string>;

  constructor(options: QuotaServiceOptions) {
    const { process, home, store, skewBoundMs, newId, hasRoutes, seals } = options;
    this.process = process;
    this.seals = seals;
    this.removed = options.removed;
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
      catalogue: options.catalogue,
      save: (book) => {
        if (!hasDisk) return;
        if (node.disk?.isFailing) throw errorOf('EIO');
        store.saved = JSON.parse(JSON.stringify(book)) as SavedBook;
      },
    });
    const { book, routes } = this;
    this.remints = new Remints(process, book, () => routes.regions());
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
    if (!hasDisk) observeAdmitted(this.broker.ledger, options.admitted);
    const operations = new ObservedOperations({ engine, book, broker: this.broker, monotonicMs });
    this.operations = operations;
    const records = new KeptRecords(engine);
    this.records = records;
    const held = { operations, monotonicMs, newId, records: hasDisk ? records : undefined };
    this.reservations = new Reservations(held);
    this.leases = new Leases(held);
    const { broker, reservations, leases } = this;
    this.refunds = new Refunds({ engine, book, broker, operations, reservations, leases });
    this.repeats = new Repeats({
      monotonicMs,
      nowMs: () => engine.nowMs,
      isDone: (answer) => 'isAllowed' in answer && answer.isAllowed,
      records,
    });
    if (!this.book.tenure.isContinued) return;
    this.reservations.restore();
    this.leases.restore();
  }

  tick(): void {
    this.guard(() => {
      if (this.book.retry(this.process.node.nowMs())) this.policiesChanged();
      this.reservations.tick();
      this.leases.tick();
      this.broker.tick();
      if (this.remints.tick()) this.policiesChanged();
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
    this.divide();
    this.book.define(definition, this.process.engine.nowMs, (region) => this.stateOf(region));
    this.policiesChanged();
  }

  /** At the home. Throws a PolicyError where the change is refused. */
  changeCatalogue(change: unknown): void {
    this.book.replaceCatalogue(change, this.process.engine.nowMs, (region) => this.stateOf(region));
    this.policiesChanged();
  }

  private stateOf(region: string) {
    const way = this.routes.way(region);
    return way && { incarnation: way.origin, hasDisk: way.hasDisk };
  }

  /** At the home. Throws a PolicyError where it is refused. */
  giveExtra(name: string, request: Parameters<PolicyBook['giveExtra']>[1]): Policy {
    const policy = this.book.giveExtra(name, request, this.process.engine.nowMs);
    this.policiesChanged();
    return policy;
  }

  /** Under no id, and of this process alone. */
  refund(name: string, subject: Uint8Array, atMost: number, done: (refunded: Refunded) => void): void {
    const { engine } = this.process;
    this.guard(() =>
      this.refunds.prepare(name, subject, atMost, (refund) => {
        if (this.process.isOver) return;
        engine.lockAll();
        const refunded = refund();
        engine.unlock();
        done(refunded);
      }),
    );
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
    const hasOtherRoutes = this.routes.hear(link.region, hasDisk, reaches, {
      version: set?.version ?? 0,
      divides: true,
    });
    if (set === null ? this.book.begin() : this.adopt(link, set, seal)) this.policiesChanged();
    else if (hasOtherRoutes && this.hasRoutes) this.sendAll();
    if (this.divide()) this.policiesChanged();
  }

  /** As in a server: the home divides the tokens of a region among the members that it knows. */
  private divide(): boolean {
    const { book, process } = this;
    if (!book.isHome) return false;
    const removed = this.removed();
    const known = new Set([process.region, ...process.node.peers, ...this.routes.regions()]);
    const servers = [...known]
      .filter((name) => !removed.has(name))
      .map((name) => ({
        name,
        version: name === process.region ? book.version : this.routes.way(name)?.version,
        divides: true,
      }));
    if (!book.divide({ servers, removed }, process.engine.nowMs)) return false;
    const divided = book
      .divided()
      .map(({ members, isAgreed }) => `${members.join(' ')}${isAgreed ? '' : ' (proposed)'}`);
    process.node.cluster.said(`${process.label} divides tokens among ${divided.join('; ')}`);
    return true;
  }

  private adopt(link: Link, set: PolicySet, seal: Seal | undefined): boolean {
    const { book, gate } = this;
    const nowMs = this.process.node.nowMs();
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

/** Where there is a disk, a crash may forget it before it can be spent. */
function observeAdmitted(ledger: Ledger, admitted: QuotaServiceOptions['admitted']): void {
  const admit = ledger.admit.bind(ledger);
  ledger.admit = (policy, allotment, amount) => {
    const mark = admit(policy, allotment, amount);
    if (mark !== undefined) admitted(allotment, amount);
    return mark;
  };
}

export function quotasOf(process: NodeProcess): QuotaService {
  return process.service as QuotaService;
}
