import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import {
  type Allotment,
  type PartialDefinition,
  type Policy,
  PolicyBook,
  PolicyError,
  type TakeItem,
  TokenBroker,
} from '@quotadb/quota';
import { type Link, nameOfOrigin } from '@quotadb/replication';
import type { Clock, QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { systemMonotonicMs, TakeStatistics } from '@quotadb/resp';
import {
  FrameKind,
  type Policies,
  type PolicyChange,
  type QuotaFrame,
  type TokensAnswer,
  type TokensWanted,
} from '@quotadb/wire';
import type { Logger } from 'pino';
import { OccasionalLog } from '../logging/occasional-log.js';
import { loadBook, saveBook } from './book-file.js';
import {
  answerTo,
  type Forwardable,
  type Forwarded,
  ForwardedRequests,
  readForwarded,
  regionOf,
} from './forwarded-requests.js';
import { LocalAnswers, type LocalRequest } from './local-answers.js';
import { readEnvelope, writeEnvelope } from './policy-envelope.js';
import { RegionPeers } from './region-peers.js';
import { TokenFigures } from './token-figures.js';
import { findTokens, type Whereabouts } from './token-locations.js';

/** Whoever waits for tokens is looked after this often, beside every time that something has happened. */
const TICK_INTERVAL_MS = 10;
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

/** What is to be done at the home. */
type Change = Extract<QuotaRequest, { readonly kind: 'define' | 'drop' }>;

/** What quotas need of the rest of a server that has loaded its data. */
export interface QuotaSurroundings {
  /** Undefined where there is no disk. */
  readonly disk: { readonly durable: (shard: number) => number; readonly flushSoon: () => void } | undefined;
  /** Resolves when every thread knows that it is not alone with the store. */
  readonly share: () => Promise<void>;
}

/** The region where policies are defined: the one that was named, or the first of those that are known. */
function homeOf({ home, region, peers }: Configuration): string {
  return home !== '' ? home : [region, ...peers.map((peer) => peer.region)].sort()[0];
}

/** Quotas of a running server, on the main thread: policies, tokens and whoever waits for them. */
export class QuotaService {
  /** Called with the policies whenever they have changed. */
  onPolicies: (policies: readonly Policy[]) => void = () => {};
  readonly figures = new TokenFigures();
  /** Takes that a lane could not answer by itself, and those over HTTP. */
  readonly takes = new TakeStatistics(systemMonotonicMs);
  private readonly options: QuotaServiceOptions;
  private readonly book: PolicyBook;
  private readonly peers: RegionPeers;
  private readonly forwarded = new ForwardedRequests();
  /** Whom a neighbour was told can be reached from here. */
  private readonly told = new WeakMap<Link, string>();
  private readonly faults: OccasionalLog;
  private broker: TokenBroker | undefined = undefined;
  private answers: LocalAnswers | undefined = undefined;
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
    this.peers = new RegionPeers(config.region);
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
    this.broker = new TokenBroker({
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
    this.answers = new LocalAnswers({
      engine,
      region: config.region,
      book,
      broker: this.broker,
      noteTakes: (items, isAllowed) => this.noteTakes(items, isAllowed),
    });
    this.applyConfigured();
    await this.publish();
  }

  /** Nobody spends any more: what was not spent need not be lost. */
  stop(): void {
    clearInterval(this.ticking);
    const { broker } = this;
    // The last flush must find nothing set aside anew.
    this.broker = undefined;
    if (this.sharing !== undefined) this.guard(() => broker?.returnLocalBalances());
  }

  /** Something has happened that somebody may have waited for: time, a flush, tokens from elsewhere. */
  tick(): void {
    if (this.sharing === undefined || this.broker === undefined) return;
    const { engine, clock } = this.options;
    engine.advanceTo(clock.now());
    this.guard(() => {
      this.answers?.tick();
      this.broker?.tick();
    });
  }

  // ---- what lanes and HTTP ask ------------------------------------------------------------------------------------------

  requestRefill(cell: Allotment, target: number): void {
    this.guard(() => this.broker?.requestRefill(cell, target));
  }

  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    const to = regionOf(request, this.book.home) ?? this.options.config.region;
    if (to === this.options.config.region) this.askHere(request, answered);
    else this.forward({ to, hops: 0, request: request as Forwardable }, answered);
  }

  private forward(forwarded: Forwarded, answered: (answer: QuotaAnswer) => void): void {
    this.forwarded.forward(this.peers.next(forwarded.to), forwarded, answered);
  }

  private askHere(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    if (request.kind === 'define' || request.kind === 'drop')
      this.change(request).then(answered, (error: Error) => answered({ error: error.message }));
    else if (!this.guard(() => this.answer(request, answered))) answered({ error: 'internal error' });
  }

  private answer(request: LocalRequest, answered: (answer: QuotaAnswer) => void): void {
    const { answers, broker } = this;
    const { clock, engine } = this.options;
    engine.advanceTo(clock.now());
    if (answers === undefined || broker === undefined) answered({ error: 'quotas have not started' });
    else answers.answer(request, answered);
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
    if (policy === undefined || this.broker === undefined) return undefined;
    engine.advanceTo(clock.now());
    return findTokens({ engine, ledger: this.broker.ledger, region: config.region, regionOf }, policy, subject);
  }

  // ---- policies ---------------------------------------------------------------------------------------------------------

  /** A home that has just met a peer hears from it in a moment what there was before. */
  private remembered(): Promise<void> {
    return new Promise((resolve) => {
      this.forgetful.push(resolve);
      setTimeout(resolve, MEMORY_PATIENCE_MS);
    });
  }

  /** At the home; forwarded to a region that is not, it fails with words that say so. */
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
    this.book.define({ ...definition, allocator }, this.nowMs(), (region) => this.peers.stateOf(region), isSaidAgain);
    return true;
  }

  private nowMs(): number {
    const { engine, clock } = this.options;
    return Math.max(engine.nowMs, clock.now());
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
    for (const { link } of this.peers.all()) this.tell(link);
    this.guard(() => this.broker?.policiesChanged());
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
    this.onPolicies(this.policies);
  }

  private tell(link: Link): void {
    const { config } = this.options;
    const { home, set } = this.book;
    const reaches = this.peers.tell(link);
    this.told.set(link, JSON.stringify(reaches));
    link.send(writeEnvelope({ home, hasDisk: config.dataDirectory !== '', set: set ?? null, reaches }));
  }

  /** Others can be reached from here than before: neighbours that this matters to are told. */
  private tellWays(): void {
    for (const { link } of this.peers.all())
      if (this.told.get(link) !== JSON.stringify(this.peers.tell(link))) this.tell(link);
  }

  // ---- other regions ------------------------------------------------------------------------------------------------------

  established(link: Link): void {
    this.peers.add(link);
    this.tell(link);
    this.tellWays();
  }

  closed(link: Link): void {
    this.forwarded.lost(link);
    if (this.peers.remove(link)) this.tellWays();
  }

  hear(link: Link, frame: QuotaFrame): void {
    if (frame.kind === FrameKind.policies) this.hearPolicies(link, frame);
    else if (frame.kind === FrameKind.policyChange) this.hearForwarded(link, frame);
    else if (frame.kind === FrameKind.policyAnswer) this.forwarded.heard(frame);
    else if (link.mayRelay || frame.fromRegion === link.region) this.hearTokens(frame);
  }

  private hearTokens(frame: TokensWanted | TokensAnswer): void {
    const { engine, clock } = this.options;
    engine.advanceTo(clock.now());
    this.broker?.hear(frame);
  }

  private hearPolicies(link: Link, frame: Policies): void {
    const { book } = this;
    const envelope = readEnvelope(frame);
    const { home, set } = envelope;
    if (this.peers.hear(link, envelope)) this.tellWays();
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

  private hearForwarded(link: Link, frame: PolicyChange): void {
    const forwarded = readForwarded(frame);
    const answered = (answer: QuotaAnswer) => link.send(answerTo(frame, answer));
    if (forwarded.to === this.options.config.region) this.askHere(forwarded.request, answered);
    else this.forward(forwarded, answered);
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
