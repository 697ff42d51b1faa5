import {
  Operations,
  PolicyBook,
  type PolicySet,
  Repeats,
  Reservations,
  type SavedBook,
  type TakeAnswer,
  type TakeRequest,
  TokenBroker,
} from '@quotadb/quota';
import { type Link, nameOfOrigin } from '@quotadb/replication';
import { FrameKind, type Policies, type QuotaFrame } from '@quotadb/wire';
import { errorOf } from '../simulated-disk.js';
import type { NodeProcess } from '../simulated-node.js';

/** What of a node's policies outlives its processes: the file beside its log. */
export interface BookStore {
  saved: SavedBook | undefined;
}

export interface QuotaPartsOptions {
  readonly process: NodeProcess;
  readonly home: string;
  readonly store: BookStore;
  readonly skewBoundMs: number;
  readonly newId: () => string;
}

interface Envelope {
  readonly hasDisk: boolean;
  readonly set: PolicySet | null;
}

/** Whoever takes for a reservation has to be told apart from those that clients see. */
class ObservedOperations extends Operations {
  /** Of the take that is being answered: the allotments it was taken from; undefined where it was not. */
  answering: Extract<TakeAnswer, { isAllowed: boolean }>['allotments'] | undefined = undefined;

  override take(request: TakeRequest, done: (answer: TakeAnswer) => void): void {
    super.take(request, (answer) => {
      this.answering = 'isAllowed' in answer && answer.isAllowed ? answer.allotments : undefined;
      done(answer);
    });
  }
}

/** Quotas in one process, put together as a server does: the same parts, with simulated time, network and disk around them. */
export class QuotaParts {
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly operations: ObservedOperations;
  readonly reservations: Reservations;
  readonly repeats: Repeats<TakeAnswer>;
  private readonly process: NodeProcess;
  private readonly views = new Map<string, { readonly link: Link; hasDisk: boolean }>();

  constructor({ process, home, store, skewBoundMs, newId }: QuotaPartsOptions) {
    this.process = process;
    const { node, engine, disk } = process;
    const monotonicMs = () => process.monotonicMs();
    this.book = new PolicyBook({
      home,
      region: node.region,
      incarnation: process.origin,
      isNewIncarnation: store.saved === undefined,
      hasDisk: node.hasDisk,
      nowMs: engine.nowMs,
      skewBoundMs,
      isAlone: false,
      ...(store.saved && { saved: store.saved }),
      save: (book) => {
        if (!node.hasDisk) return;
        if (node.disk?.isFailing) throw errorOf('EIO');
        store.saved = JSON.parse(JSON.stringify(book)) as SavedBook;
      },
    });
    this.broker = new TokenBroker({
      engine,
      region: node.region,
      origin: node.origin,
      book: this.book,
      skewBoundMs,
      monotonicMs,
      peers: {
        regions: () => this.views.keys(),
        originOf: (region) => this.views.get(region)?.link.origin,
        send: (region, frame) => this.views.get(region)?.link.send(frame),
      },
      ...(disk && { durable: (shard: number) => disk.durable(shard), flushSoon: () => process.flushSoon() }),
    });
    this.operations = new ObservedOperations({ engine, book: this.book, broker: this.broker, monotonicMs });
    this.reservations = new Reservations({ operations: this.operations, monotonicMs, newId });
    this.repeats = new Repeats(monotonicMs, (answer) => 'isAllowed' in answer && answer.isAllowed);
  }

  tick(): void {
    this.guard(() => {
      this.reservations.tick();
      this.broker.tick();
    });
  }

  /** With an id it is done once, however often it is asked for. False where the id stands for something else. */
  take(id: string | undefined, request: TakeRequest, done: (answer: TakeAnswer) => void): boolean {
    let isFresh = true;
    this.guard(() => {
      if (id === undefined) this.operations.take(request, done);
      else {
        const payload = JSON.stringify(request.items.map(({ name, subject, cost }) => [name, `${subject}`, cost]));
        isFresh = this.repeats.run(id, payload, (finish) => this.operations.take(request, finish), done);
      }
    });
    return isFresh;
  }

  /** At the home. Throws a PolicyError where it may not be. */
  define(definition: Parameters<PolicyBook['define']>[0]): void {
    this.book.define(definition, this.process.engine.nowMs, (region) => {
      const view = this.views.get(region);
      return view && { incarnation: nameOfOrigin(view.link.origin), hasDisk: view.hasDisk };
    });
    this.tellAll();
  }

  drop(name: string): void {
    this.book.drop(name, this.process.engine.nowMs);
    this.tellAll();
  }

  isLinkedTo(region: string): boolean {
    return this.views.has(region);
  }

  // ---- other regions ------------------------------------------------------------------------------------------------------

  established(link: Link): void {
    this.views.set(link.region, { link, hasDisk: false });
    link.send(this.envelope());
  }

  closed(link: Link): void {
    if (this.views.get(link.region)?.link === link) this.views.delete(link.region);
  }

  hear(link: Link, frame: QuotaFrame): void {
    this.guard(() => {
      if (frame.kind === FrameKind.policies) this.hearPolicies(link, frame);
      else if (frame.kind === FrameKind.tokensWanted || frame.kind === FrameKind.tokensAnswer) this.broker.hear(frame);
    });
  }

  private hearPolicies(link: Link, { body }: Policies): void {
    const { hasDisk, set } = JSON.parse(Buffer.from(body).toString()) as Envelope;
    const view = this.views.get(link.region);
    if (view === undefined) return;
    view.hasDisk = hasDisk;
    if (set === null ? this.book.begin() : this.book.adopt(set)) this.tellAll();
  }

  private tellAll(): void {
    for (const { link } of this.views.values()) link.send(this.envelope());
    this.broker.policiesChanged();
  }

  private envelope(): Policies {
    const { set, version } = this.book;
    const envelope: Envelope = { hasDisk: this.process.node.hasDisk, set: set ?? null };
    return { kind: FrameKind.policies, version, body: Buffer.from(JSON.stringify(envelope)) };
  }

  /** As a server does: what cannot be written down ends what it concerns, and nothing else. */
  guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.process.engine.releaseLocks();
      const { host } = this.process.node;
      if ((error as Error).message === 'EIO') host.said(`${this.process.label}: the book cannot be written`);
      else host.failed(`${this.process.label}: ${(error as Error).stack}`);
    }
  }
}
