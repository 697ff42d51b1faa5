import { randomBytes } from 'node:crypto';
import type { Engine } from '@quotadb/engine';
import {
  type Cell,
  Keeper,
  Operations,
  type Policy,
  PolicyBook,
  PolicyError,
  type RegionState,
  Repeats,
  Reservations,
  type TakeAnswer,
  type TakeItem,
} from '@quotadb/quota';
import { type Link, nameOfOrigin } from '@quotadb/replication';
import { FrameKind, type Policies, type PolicyChange, type QuotaFrame } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Configuration } from '../config/table.js';
import { systemMonotonicMs } from '../replication/board.js';
import { OccasionalLog } from '../replication/occasional-log.js';
import { TakeStatistics } from '../statistics/take-statistics.js';
import { startSpan } from '../tracing/tracing.js';
import { loadBook, saveBook } from './book-file.js';
import { describeCell, describePolicy } from './describe.js';
import { answerTo, type Change, ForwardedChanges } from './forwarded-changes.js';
import { readEnvelope, writeEnvelope } from './policy-envelope.js';
import {
  type PartialDefinition,
  type QuotaAnswer,
  type QuotaCarrier,
  QuotaLink,
  type QuotaRequest,
} from './quota-link.js';
import { RegionPeers } from './region-peers.js';
import { TokenFigures } from './token-figures.js';
import { findTokens, type Whereabouts } from './whereabouts.js';

/** Whoever waits for tokens is looked after this often, beside every time that something has happened. */
const TICK_INTERVAL_MS = 10;
const RESERVATION_ID_BYTES = 15;
/** How long a change of policies waits for a home that has not heard from a peer yet. */
const MEMORY_PATIENCE_MS = 2000;

export interface QuotaServiceOptions {
  readonly config: Configuration;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly origin: Uint8Array;
  /** False where this life of the replica has run before. */
  readonly isNewIncarnation: boolean;
}

/** What quotas need of the rest of a server that has loaded its data. */
export interface QuotaSurroundings {
  /** Undefined where there is no disk. */
  readonly disk: { readonly durable: (shard: number) => number; readonly flushSoon: () => void } | undefined;
  /** Resolves when every thread knows that it is not alone with the store. */
  readonly share: () => Promise<void>;
}

/** The region where policies are defined: the one that was named, or the first of those that are known. */
export function homeOf({ home, region, peers }: Configuration): string {
  return home !== '' ? home : [region, ...peers.map((peer) => peer.region)].sort()[0];
}

/** Quotas of a running server, on the main thread: policies, tokens and whoever waits for them. */
export class QuotaService implements QuotaCarrier {
  /** Called with the policies whenever they have changed. */
  onPolicies: (policies: readonly Policy[]) => void = () => {};
  readonly figures = new TokenFigures();
  /** Takes that a lane could not answer by itself, and those over HTTP. */
  readonly takes = new TakeStatistics(systemMonotonicMs);
  private readonly options: QuotaServiceOptions;
  private readonly book: PolicyBook;
  private readonly peers = new RegionPeers();
  private readonly forwarded = new ForwardedChanges();
  private readonly faults: OccasionalLog;
  private readonly ownLink: QuotaLink;
  private keeper: Keeper | undefined = undefined;
  private operations: Operations | undefined = undefined;
  private reservations: Reservations | undefined = undefined;
  private readonly repeats = new Repeats<TakeAnswer>(
    systemMonotonicMs,
    (answer) => 'isAllowed' in answer && answer.isAllowed,
  );
  private surroundings: QuotaSurroundings | undefined = undefined;
  private sharing: Promise<void> | undefined = undefined;
  private readonly forgetful: (() => void)[] = [];
  private ticking: NodeJS.Timeout | undefined = undefined;

  constructor(options: QuotaServiceOptions) {
    this.options = options;
    const { config, clock, origin, isNewIncarnation } = options;
    const directory = config.dataDirectory;
    const hasDisk = directory !== '';
    this.faults = new OccasionalLog(systemMonotonicMs);
    const saved = hasDisk ? loadBook(directory) : undefined;
    this.book = new PolicyBook({
      home: homeOf(config),
      region: config.region,
      incarnation: nameOfOrigin(origin),
      isNewIncarnation,
      hasDisk,
      nowMs: clock.now(),
      skewBoundMs: config.clockSkewBoundMs,
      isAlone: config.peers.length === 0,
      ...(saved && { saved }),
      save: (book) => {
        if (hasDisk) saveBook(directory, book);
      },
    });
    this.ownLink = new QuotaLink(this);
  }

  /** Quotas as a lane of this thread sees them. */
  link(): QuotaLink {
    return this.ownLink;
  }

  get policies(): readonly Policy[] {
    return this.book.list();
  }

  /** Before anybody is served. */
  async start(surroundings: QuotaSurroundings): Promise<void> {
    const { config, engine, origin } = this.options;
    const { book, peers } = this;
    const { disk } = surroundings;
    this.surroundings = surroundings;
    this.keeper = new Keeper({
      engine,
      region: config.region,
      origin,
      book,
      peers,
      skewBoundMs: config.clockSkewBoundMs,
      monotonicMs: systemMonotonicMs,
      events: this.figures,
      ...disk,
    });
    this.operations = new Operations({ engine, book, keeper: this.keeper, monotonicMs: systemMonotonicMs });
    this.reservations = new Reservations({
      operations: this.operations,
      monotonicMs: systemMonotonicMs,
      newId: () => randomBytes(RESERVATION_ID_BYTES).toString('base64url'),
    });
    this.applyConfigured();
    await this.publish();
  }

  /** Nobody spends any more: what was not spent need not be lost. */
  stop(): void {
    clearInterval(this.ticking);
    const { keeper } = this;
    // The last flush must find nothing set aside anew.
    this.keeper = undefined;
    if (this.sharing !== undefined) this.guard(() => keeper?.emptyPockets());
  }

  /** Something has happened that somebody may have waited for: time, a flush, tokens from elsewhere. */
  tick(): void {
    if (this.sharing === undefined || this.keeper === undefined) return;
    const { engine, clock } = this.options;
    engine.advanceTo(clock.now());
    this.guard(() => {
      this.reservations?.tick();
      this.keeper?.tick();
    });
  }

  // ---- what lanes and HTTP ask ------------------------------------------------------------------------------------------

  foresee(cell: Cell, target: number): void {
    this.guard(() => this.keeper?.foresee(cell, target));
  }

  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    if (request.kind === 'define' || request.kind === 'drop') this.changeAnywhere(request, answered);
    else {
      const { clock, engine } = this.options;
      engine.advanceTo(clock.now());
      const isDone = this.guard(() => this.answer(request, answered));
      if (!isDone) answered({ error: 'internal error' });
    }
  }

  private answer(request: Exclude<QuotaRequest, Change>, answered: (answer: QuotaAnswer) => void): void {
    const { operations, keeper, book, reservations } = this;
    if (operations === undefined || keeper === undefined || reservations === undefined) {
      answered({ error: 'quotas have not started' });
      return;
    }
    const plainly = <Value extends object>(answer: Value | { readonly error: string }) =>
      answered('error' in answer ? (answer as { readonly error: string }) : { value: answer });
    if (request.kind === 'take') {
      this.takeOnce(request, operations, plainly);
    } else if (request.kind === 'reserve') {
      reservations.reserve(request.item, request.ttlMs, request.waitMs, (answer) => {
        if (!('error' in answer)) this.noteTakes([request.item], answer.isAllowed);
        plainly(answer);
      });
    } else if (request.kind === 'commit') {
      reservations.commit(request.reservation, request.actual, plainly);
    } else if (request.kind === 'cancel') {
      answered({ value: reservations.cancel(request.reservation) });
    } else if (request.kind === 'peek') {
      plainly(operations.peek(request.name, request.subject));
    } else {
      const policy = book.named(request.name);
      if (policy === undefined) {
        answered({ error: `there is no quota '${request.name}'` });
        return;
      }
      const { engine } = this.options;
      const described = describePolicy(policy, book, engine.nowMs);
      const cell = request.subject && describeCell(policy, request.subject, keeper.ledger, operations, engine.nowMs);
      answered({ value: [...described, ...(cell ?? [])] });
    }
  }

  private takeOnce(
    { id, items, waitMs }: Extract<QuotaRequest, { kind: 'take' }>,
    operations: Operations,
    done: (answer: TakeAnswer) => void,
  ): void {
    const take = (finish: (answer: TakeAnswer) => void) => {
      const span = startSpan('quota take', { attributes: { 'quotadb.quota': items.map(({ name }) => name) } });
      operations.take({ items, waitMs }, (answer) => {
        if (!('error' in answer)) {
          this.noteTakes(items, answer.isAllowed);
          span.setAttribute('quotadb.allowed', answer.isAllowed);
        }
        span.end();
        finish(answer);
      });
    };
    if (id === undefined) {
      take(done);
      return;
    }
    const payload = JSON.stringify(
      items.map(({ name, subject, cost }) => [name, Buffer.from(subject).toString('latin1'), cost]),
    );
    const isNewOrSame = this.repeats.run(id, payload, take, done);
    if (!isNewOrSame) done({ error: 'this ID was used for another operation' });
  }

  private noteTakes(items: readonly TakeItem[], isAllowed: boolean): void {
    for (const { name, subject, cost } of items) {
      const policy = this.book.named(name);
      if (policy !== undefined) this.takes.note(policy.number, cost, isAllowed, subject, 0, subject.length);
    }
  }

  /** Where the tokens of a subject are, as far as is known here; undefined where there is no such quota. */
  whereabouts(
    name: string,
    subject: Uint8Array,
    regionOf: (origin: Uint8Array) => string | undefined,
  ): Whereabouts | undefined {
    const { config, engine, clock } = this.options;
    const policy = this.book.named(name);
    if (policy === undefined || this.keeper === undefined) return undefined;
    engine.advanceTo(clock.now());
    return findTokens({ engine, ledger: this.keeper.ledger, region: config.region, regionOf }, policy, subject);
  }

  // ---- policies ---------------------------------------------------------------------------------------------------------

  private changeAnywhere(change: Change, answered: (answer: QuotaAnswer) => void): void {
    const { book, peers } = this;
    if (book.isHome) {
      this.change(change).then(answered, (error: Error) => answered({ error: error.message }));
      return;
    }
    const view = peers.get(book.home);
    if (view === undefined)
      answered({ error: `policies are defined in region ${book.home}, their home, and there is no connection to it` });
    else this.forwarded.forward(book.home, change, (frame) => view.link.send(frame), answered);
  }

  /** A home that has just met a peer hears from it in a moment what there was before. */
  private remembered(): Promise<void> {
    return new Promise((resolve) => {
      this.forgetful.push(resolve);
      setTimeout(resolve, MEMORY_PATIENCE_MS);
    });
  }

  /** At the home. */
  private async change(change: Change): Promise<QuotaAnswer> {
    const { book } = this;
    if (book.set === undefined) await this.remembered();
    try {
      this.mustAgree();
      const isThere = change.kind === 'define' ? this.define(change.definition) : book.drop(change.name, this.nowMs());
      await this.tellAll();
      return { value: isThere };
    } catch (error) {
      if (!(error instanceof PolicyError))
        this.options.logger.error({ err: error }, 'the policies could not be written to disk');
      return { error: (error as Error).message };
    }
  }

  private define(definition: PartialDefinition, isSaidAgain = false): boolean {
    const allocator = definition.allocator ?? this.book.home;
    this.book.define({ ...definition, allocator }, this.nowMs(), (region) => this.stateOf(region), isSaidAgain);
    return true;
  }

  private nowMs(): number {
    const { engine, clock } = this.options;
    return Math.max(engine.nowMs, clock.now());
  }

  private stateOf(region: string): RegionState | undefined {
    const view = this.peers.get(region);
    return view && { incarnation: nameOfOrigin(view.link.origin), hasDisk: view.hasDisk };
  }

  /** Two homes would give the same limit out twice. */
  private mustAgree(): void {
    const { home } = this.book;
    for (const view of this.peers.all()) {
      if (view.home !== undefined && view.home !== home)
        throw new PolicyError(
          `region ${view.link.region} takes ${view.home} for the home of policies, and this region ${home}: give all regions the same --home`,
        );
    }
  }

  /** What the configuration asks for, at the home, when it is known what there was before. */
  private applyConfigured(): void {
    const { config, logger } = this.options;
    if (!this.book.isHome || this.book.set === undefined) return;
    for (const definition of config.quotas) {
      try {
        // In memory every start says it again, and how much of it an earlier life gave out is forgotten.
        this.define(definition, config.dataDirectory === '');
      } catch (error) {
        logger.error(
          { quota: definition.name, reason: (error as Error).message },
          'a quota of the configuration is refused',
        );
      }
    }
  }

  /** The policies are others now: lanes and regions are told. */
  private async tellAll(): Promise<void> {
    for (const view of this.peers.all()) view.link.send(this.envelope());
    this.guard(() => this.keeper?.policiesChanged());
    await this.publish();
  }

  private async publish(): Promise<void> {
    const { surroundings } = this;
    if (surroundings === undefined) return;
    if (this.policies.length > 0 && this.sharing === undefined) {
      this.ticking = setInterval(() => this.tick(), TICK_INTERVAL_MS);
      this.sharing = surroundings.share();
    }
    await this.sharing;
    this.ownLink.policies.replace(this.policies);
    this.onPolicies(this.policies);
  }

  private envelope(): Policies {
    const { config } = this.options;
    const { home, set } = this.book;
    return writeEnvelope({ home, hasDisk: config.dataDirectory !== '', set: set ?? null });
  }

  // ---- other regions ------------------------------------------------------------------------------------------------------

  established(link: Link): void {
    this.peers.add(link);
    link.send(this.envelope());
  }

  closed(link: Link): void {
    if (this.peers.remove(link)) this.forwarded.lost(link.region);
  }

  hear(link: Link, frame: QuotaFrame): void {
    if (frame.kind === FrameKind.policies) this.hearPolicies(link, frame);
    else if (frame.kind === FrameKind.policyChange) this.hearChange(link, frame);
    else if (frame.kind === FrameKind.policyAnswer) this.forwarded.heard(frame);
    else this.keeper?.hear(frame);
  }

  private hearPolicies(link: Link, frame: Policies): void {
    const { book } = this;
    const { home, hasDisk, set } = readEnvelope(frame);
    const view = this.peers.get(link.region);
    if (view === undefined) return;
    view.home = home;
    view.hasDisk = hasDisk;
    if (home !== book.home) {
      this.faults.say(`home ${link.region} ${home}`, () =>
        this.options.logger.warn(
          { peer: link.region, there: home, here: book.home },
          'regions do not agree on the home of quota policies, so none can be defined: give all of them the same --home',
        ),
      );
      return;
    }
    const isNews = set === null ? book.begin() : book.adopt(set);
    if (!isNews) return;
    for (const waiting of this.forgetful.splice(0)) waiting();
    this.applyConfigured();
    void this.tellAll();
  }

  private hearChange(link: Link, frame: PolicyChange): void {
    const change = JSON.parse(Buffer.from(frame.body).toString()) as Change;
    if (!this.book.isHome) {
      link.send(answerTo(frame, { error: `region ${this.options.config.region} is not the home of policies` }));
      return;
    }
    this.change(change).then(
      (answer) => link.send(answerTo(frame, answer)),
      (error: Error) => link.send(answerTo(frame, { error: error.message })),
    );
  }

  /** A mistake, or a disk that takes nothing, must not end more than what it concerns. */
  private guard(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.options.engine.releaseLocks();
      this.faults.say(`fault ${(error as Error).message}`, (suppressed) =>
        this.options.logger.error({ err: error, suppressed }, 'quotas: something failed that should not'),
      );
      return false;
    }
  }
}
