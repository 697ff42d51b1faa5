import { randomBytes } from 'node:crypto';
import type { Engine } from '@quotadb/engine';
import type { LimitEntry } from '@quotadb/limits';
import {
  type Acquired,
  findAmountMistake,
  KeptKind,
  KeptRecords,
  Leases,
  nameOfOperation,
  noSuchPolicy,
  type Operation,
  Operations,
  type PolicyBook,
  type Refunded,
  Refunds,
  Repeats,
  Reservations,
  type Reserved,
  type Standing,
  subjectOfMarks,
  type TakeAnswer,
  type TakeItem,
  type TokenBroker,
  windowAt,
} from '@quotadb/quota';
import type { QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { systemMonotonicMs } from '@quotadb/resp';
import type { UsageCounter } from '@quotadb/usage';
import { startSpan } from '../tracing/tracing.js';
import type { CountedSubjects } from './counted-subjects.js';
import { describeAllotment, describePolicy } from './describe.js';
import { listSubjects, type SubjectPage } from './subject-list.js';

const ID_BYTES = 15;

interface LocalAnswersOptions {
  readonly engine: Engine;
  readonly region: string;
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly hasDisk: boolean;
  /** An answer waits for the disk to hold what it says (--fsync always). */
  readonly waitsForDisk: boolean;
  /** Called for every take and reservation, allowed or denied. */
  readonly noteTakes: (items: readonly TakeItem[], isAllowed: boolean) => void;
  /** Of limits that are no quotas. */
  readonly counted: CountedSubjects;
  /** Where usage is exported. */
  readonly usage?: UsageCounter | undefined;
  /** Resolves when the system has all changes so far. */
  readonly write?: (() => Promise<void>) | undefined;
}

/** A request to this region's quotas; changes of policies are apart. */
export type LocalRequest = Exclude<
  QuotaRequest,
  {
    readonly kind: 'define' | 'drop' | 'catalogue' | 'shared' | 'extra' | 'home' | 'describeHome' | 'remint' | 'events';
  }
>;

type Repeatable = TakeAnswer | Reserved | Acquired | Refunded;
type Answered<Answer> = (answer: Answer | { readonly error: string }) => void;
/** A request that is done once, if it has an ID. */
interface Once<Answer> {
  readonly id: string | undefined;
  readonly payload: () => unknown;
  readonly work: (finish: Answered<Answer>) => void;
  readonly again: () => Answer;
}

const HELD_NO_MORE =
  'this ID was used, and what was given for it is not held here: it was settled or has ended, or is in another region';

/** Takes, reservations and leases of this region, and their answers, kept for repeated requests. */
export class LocalAnswers {
  private readonly options: LocalAnswersOptions;
  readonly operations: Operations;
  private readonly reservations: Reservations;
  readonly leases: Leases;
  private readonly refunds: Refunds;
  private readonly records: KeptRecords;
  /** Answers by the ID of the request, which stands for one operation of any kind. */
  private readonly repeats: Repeats<Repeatable>;

  constructor(options: LocalAnswersOptions) {
    this.options = options;
    const { engine, book, region, hasDisk } = options;
    const monotonicMs = systemMonotonicMs;
    this.operations = new Operations({ ...options, monotonicMs });
    this.operations.taker.usage = options.usage;
    this.records = new KeptRecords(engine);
    const { records, operations } = this;
    const held = { operations, monotonicMs, newId: () => newId(region), records: hasDisk ? records : undefined };
    this.reservations = new Reservations(held);
    this.leases = new Leases(held);
    this.refunds = new Refunds({ ...options, operations, reservations: this.reservations, leases: this.leases });
    this.repeats = new Repeats({
      monotonicMs,
      nowMs: () => engine.nowMs,
      isDone: (answer) => 'refunded' in answer || ('isAllowed' in answer && answer.isAllowed),
      records,
    });
    if (book.tenure.isContinued) {
      this.reservations.restore();
      this.leases.restore();
    } else this.forgetHeld();
  }

  /** What an incarnation held whose book is lost: it may have let go of the tokens since. */
  private forgetHeld(): void {
    for (const kind of [KeptKind.reservation, KeptKind.lease])
      for (const { body } of this.records.own(kind)) this.records.remove(kind, body);
  }

  tick(): void {
    this.reservations.tick();
    this.leases.tick();
  }

  answer(request: LocalRequest, respond: (answer: QuotaAnswer) => void): void {
    const { operations, reservations, leases } = this;
    const answered = (answer: QuotaAnswer) => this.acknowledge(() => respond(answer));
    const plainly = <Value extends object>(answer: Value | { readonly error: string }) =>
      answered('error' in answer ? (answer as { readonly error: string }) : { value: answer });
    if (request.kind === 'take')
      // A lane has no use for the allotments.
      this.take(request, (taken) =>
        plainly('error' in taken ? taken : { isAllowed: taken.isAllowed, standings: taken.standings }),
      );
    else if (request.kind === 'reserve') this.reserve(request, plainly);
    else if (request.kind === 'commit') reservations.commit(request.reservation, request.actual, plainly);
    else if (request.kind === 'cancel') answered({ value: reservations.cancel(request.reservation) });
    else if (request.kind === 'acquire') this.acquire(request, plainly);
    else if (request.kind === 'renew') leases.renew(request.lease, request.ttlMs, request.waitMs, plainly);
    else if (request.kind === 'release') answered({ value: leases.release(request.lease) });
    else if (request.kind === 'peek') plainly(operations.peek(request.name, request.subject));
    else if (request.kind === 'refund') this.refund(request, request.amount, request.id, plainly);
    else if (request.kind === 'reset') this.refund(request, Number.POSITIVE_INFINITY, this.idHere(request.id), plainly);
    else if (request.kind === 'subjects') plainly(this.subjects(request));
    else if (request.kind === 'unspent') answered(this.unspent(request));
    else this.info(request, answered);
  }

  private take(request: Extract<QuotaRequest, { kind: 'take' }>, done: Answered<TakeAnswer>): void {
    const { id, items, waitMs } = request;
    const payload = () => items.map(({ name, subject, cost }) => [name, text(subject), cost]);
    const again = (): TakeAnswer => {
      const standings = items.map(({ name, subject }) => this.operations.peek(name, subject));
      const mistake = standings.find((standing) => 'error' in standing);
      if (mistake !== undefined) return mistake as { readonly error: string };
      return { isAllowed: true, standings: standings as Standing[], allotments: [] };
    };
    const work = (finish: Answered<TakeAnswer>) => {
      const span = startSpan('quota take', { attributes: { 'quotadb.quota': items.map(({ name }) => name) } });
      this.operations.take({ items, waitMs, isRecorded: id !== undefined }, (answer) => {
        if (!('error' in answer)) {
          this.options.noteTakes(items, answer.isAllowed);
          span.setAttribute('quotadb.allowed', answer.isAllowed);
        }
        span.end();
        finish(answer);
      });
    };
    this.once({ id, payload, work, again }, done);
  }

  private reserve(request: Extract<QuotaRequest, { kind: 'reserve' }>, done: Answered<Reserved>): void {
    const { id, item, ttlMs, lapse } = request;
    const payload = () => ['reserve', item.name, text(item.subject), item.cost, ttlMs, lapse];
    const operation = id === undefined ? undefined : nameOfOperation(id);
    const work = (finish: Answered<Reserved>) =>
      this.reservations.reserve({ ...request, operation }, (answer) => {
        if (!('error' in answer)) this.options.noteTakes([item], answer.isAllowed);
        finish(answer);
      });
    const again = () => this.heldAgain(item, this.reservations.ofOperation(operation ?? ''));
    this.once({ id, payload, work, again }, done);
  }

  /** The answer to a request whose ID was used before this process began, or in another region. */
  private heldAgain(item: Pick<TakeItem, 'name' | 'subject'>, id: string | undefined): Reserved & Acquired {
    const standing = this.operations.peek(item.name, item.subject);
    if ('error' in standing) return standing;
    return id === undefined ? { error: HELD_NO_MORE } : { isAllowed: true, id, standing };
  }

  private acquire(request: Extract<QuotaRequest, { kind: 'acquire' }>, done: Answered<Acquired>): void {
    const { id, name, subject, ttlMs } = request;
    const payload = () => ['acquire', name, text(subject), ttlMs];
    const operation = id === undefined ? undefined : nameOfOperation(id);
    const work = (finish: Answered<Acquired>) => this.leases.acquire({ ...request, operation }, finish);
    const again = () => this.heldAgain(request, this.leases.ofOperation(operation ?? ''));
    this.once<Acquired>({ id, payload, work, again }, (acquired) => {
      // Repeating the first answer would promise a lease that no longer holds.
      const hasEnded = 'isAllowed' in acquired && acquired.isAllowed && !this.leases.has(acquired.id);
      done(hasEnded ? { error: 'the lease that was given for this ID has ended' } : acquired);
    });
  }

  /** One transaction: after a crash its tokens are refunded and its ID is known, or neither. */
  private refund(
    { name, subject }: Pick<TakeItem, 'name' | 'subject'>,
    atMost: number,
    id: string | undefined,
    done: Answered<Refunded>,
  ): void {
    const { engine } = this.options;
    const payload = () => ['refund', name, text(subject), String(atMost)];
    const counted = this.options.counted.find(name);
    const again = (): Refunded => {
      const standing = counted ? this.options.counted.standing(counted, subject) : this.operations.peek(name, subject);
      return 'error' in standing ? standing : { refunded: 0, standing };
    };
    const transact = (refund: () => Refunded) => {
      let answer: Refunded = { error: 'internal error' };
      const work = (finish: Answered<Refunded>) => finish(refund());
      engine.lockAll();
      try {
        this.once<Refunded>({ id, payload, work, again }, (refunded) => {
          answer = refunded;
        });
      } finally {
        engine.unlock();
      }
      done(answer);
    };
    if (counted === undefined) this.refunds.prepare(name, subject, atMost, transact);
    else transact(() => this.refundCounted(counted, subject, atMost));
  }

  private refundCounted(counted: LimitEntry, subject: Uint8Array, atMost: number): Refunded {
    const mistake = findAmountMistake(atMost);
    return mistake === undefined ? this.options.counted.refund(counted, subject, atMost) : { error: mistake };
  }

  /** Every region does its part of a reset, each under an ID of its own. */
  private idHere(id: string | undefined): string | undefined {
    return id === undefined ? undefined : `${id}@${this.options.region}`;
  }

  private subjects(request: Extract<QuotaRequest, { kind: 'subjects' }>): SubjectPage | { readonly error: string } {
    const { book, engine, counted } = this.options;
    const limit = counted.find(request.name);
    if (limit !== undefined) return counted.list(limit, request);
    const policy = book.named(request.name);
    if (policy === undefined) return { error: noSuchPolicy(request.name) };
    const window = windowAt(policy, engine.nowMs);
    return listSubjects(request, {
      scan: (cursor, count, visit) => engine.scanReserved(cursor, count, visit),
      subjectOf: (key) => subjectOfMarks(key, policy.number, window),
      standingOf: (subject) => this.operations.peek(policy.name, subject),
    });
  }

  private unspent({ name, subject }: Extract<QuotaRequest, { kind: 'unspent' }>): QuotaAnswer {
    const { book, broker, engine } = this.options;
    const policy = book.named(name);
    if (policy === undefined) return { error: noSuchPolicy(name) };
    const allotment = { policy: policy.number, window: windowAt(policy, engine.nowMs), subject };
    return { value: broker.ledger.balance(allotment) + broker.waitingOf(allotment) };
  }

  private once<Answer extends Repeatable>({ id, payload, work, again }: Once<Answer>, done: Answered<Answer>): void {
    if (id === undefined) {
      work(done);
      return;
    }
    // Equal payloads are requests of the same kind, so the kept answer has the type of `done`.
    const operation: Operation<Repeatable> = { id, payload: JSON.stringify(payload()), work, again };
    const isNewOrSame = this.repeats.run(operation, done as Answered<Repeatable>);
    if (!isNewOrSame) done({ error: 'this ID was used for another operation' });
  }

  /** Tokens in reservations that are not settled, by allotment. */
  openReservations(): ReadonlyMap<string, number> {
    return this.reservations.outstanding();
  }

  /**
   * Calls back when the disk holds what was just changed, where answers wait for that. Where they do not, one whose
   * usage is billed waits until a crash of this process cannot undo it, as the replies of lanes do.
   */
  private acknowledge(done: () => void): void {
    const { waitsForDisk, broker, usage, write } = this.options;
    const kept = this.records.takeLastMark();
    const counted = usage?.takeLastMark();
    if (waitsForDisk && kept !== undefined)
      broker.durable.when(kept, () => (counted === undefined ? done() : broker.durable.when(counted, done)));
    else if (waitsForDisk && counted !== undefined) broker.durable.when(counted, done);
    else if (counted !== undefined && write !== undefined) write().then(done);
    else done();
  }

  private info(
    { name, subject }: Extract<QuotaRequest, { kind: 'info' }>,
    answered: (answer: QuotaAnswer) => void,
  ): void {
    const { book, broker, engine } = this.options;
    const policy = book.named(name);
    if (policy === undefined) {
      answered({ error: noSuchPolicy(name) });
      return;
    }
    const described = describePolicy(policy, book, engine.nowMs);
    const allotment = subject && describeAllotment(policy, subject, broker.ledger, this.operations, engine.nowMs);
    answered({ value: [...described, ...(allotment ?? [])] });
  }
}

/** The ID names the region that holds it: any other region forwards requests with it there. */
function newId(region: string): string {
  return `${randomBytes(ID_BYTES).toString('base64url')}@${region}`;
}

/** The region that a reservation or a lease is held in. */
export function regionOfId(id: string): string | undefined {
  const at = id.indexOf('@');
  return at === -1 ? undefined : id.slice(at + 1);
}

function text(subject: Uint8Array): string {
  return Buffer.from(subject).toString('latin1');
}
