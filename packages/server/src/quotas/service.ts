import { type Allotment, type Policy, type Seals, type TakeItem, TokenBroker } from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import { type QuotaAnswer, type QuotaRequest, systemMonotonicMs, TakeStatistics } from '@quotadb/resp';
import { FrameKind, type PolicyChange, type QuotaFrame } from '@quotadb/wire';
import { OccasionalLog } from '../logging/occasional-log.js';
import { answerTo, type Forwarded, ForwardedRequests, readForwarded, regionOf } from './forwarded-requests.js';
import { LocalAnswers, type LocalRequest } from './local-answers.js';
import { PolicySync, type PolicySyncOptions } from './policy-sync.js';
import { TokenFigures } from './token-figures.js';
import { locateTokens, type TokenLocations } from './token-locations.js';

/** How often waiting requests are checked, in addition to every flush and every answer of another region. */
const TICK_INTERVAL_MS = 10;

export type QuotaServiceOptions = PolicySyncOptions;

/** The parts of a server with loaded data that quotas use. */
interface QuotaSurroundings {
  /** Undefined where there is no disk. */
  readonly disk: { readonly durable: (shard: number) => number; readonly flushSoon: () => void } | undefined;
  /** Resolves when every thread locks the shards: from then on the main thread may change keys too. */
  readonly share: () => Promise<void>;
}

type Answered = (answer: QuotaAnswer) => void;
/** A request on its way to the region that has to do it, which for most is this one. */
type Routed = Omit<Forwarded, 'request'> & {
  readonly request: Exclude<QuotaRequest, { readonly kind: 'describeHome' }>;
};

/** Quotas of a running server, on the main thread: policies, tokens, and requests that wait for tokens. */
export class QuotaService {
  /** Called with the policies after every change. */
  onPolicies: (policies: readonly Policy[]) => void = () => {};
  readonly figures = new TokenFigures();
  /** Takes that a lane could not answer alone, and those over HTTP. */
  readonly takes = new TakeStatistics(systemMonotonicMs);
  private readonly options: QuotaServiceOptions;
  private readonly sync: PolicySync;
  private readonly forwarded = new ForwardedRequests();
  private readonly log = new OccasionalLog(systemMonotonicMs);
  /** The regions that have refused this server the name of its region. */
  private readonly refusedBy = new Set<string>();
  private broker: TokenBroker | undefined = undefined;
  private answers: LocalAnswers | undefined = undefined;
  private surroundings: QuotaSurroundings | undefined = undefined;
  private sharing: Promise<void> | undefined = undefined;
  private ticking: NodeJS.Timeout | undefined = undefined;

  constructor(options: QuotaServiceOptions) {
    this.options = options;
    this.sync = new PolicySync(options);
    this.sync.onChange = async () => {
      this.guard(() => this.broker?.policiesChanged());
      await this.publish();
    };
  }

  get policies(): readonly Policy[] {
    return this.sync.book.list();
  }

  /** Before the first client is served. */
  async start(surroundings: QuotaSurroundings): Promise<void> {
    const { config, engine, origin } = this.options;
    const { region } = config;
    const { book, peers } = this.sync;
    this.surroundings = surroundings;
    const broker = new TokenBroker({
      engine,
      region,
      origin,
      book,
      peers,
      skewBoundMs: config.clockSkewBoundMs,
      monotonicMs: systemMonotonicMs,
      events: this.figures,
      ...surroundings.disk,
    });
    this.broker = broker;
    const noteTakes = (items: readonly TakeItem[], isAllowed: boolean) => this.noteTakes(items, isAllowed);
    const hasDisk = surroundings.disk !== undefined;
    const waitsForDisk = hasDisk && config.fsync === 'always';
    this.answers = new LocalAnswers({ engine, region, book, broker, hasDisk, waitsForDisk, noteTakes });
    this.sync.applyConfigured();
    await this.publish();
  }

  /** After the last client: returns unspent local balances, so that they are not lost. */
  stop(): void {
    clearInterval(this.ticking);
    const { broker } = this;
    // From here on nothing is set aside anew: the last flush must hold the returns.
    this.broker = undefined;
    if (this.sharing !== undefined) this.guard(() => broker?.returnLocalBalances());
  }

  /** Time has passed, or a flush is done: serves the requests that waited for it. */
  tick(): void {
    if (this.sharing === undefined || this.broker === undefined) return;
    this.advance();
    this.guard(() => {
      this.answers?.tick();
      this.broker?.tick();
    });
  }

  requestRefill(allotment: Allotment, target: number): void {
    this.guard(() => this.broker?.requestRefill(allotment, target));
  }

  /** Answers a request of a lane or of HTTP, here or in the region that it belongs to. */
  ask(request: QuotaRequest, answered: Answered): void {
    const to = regionOf(request, this.sync.book.home) ?? this.options.config.region;
    if (request.kind === 'describeHome') answered({ value: this.sync.describe() });
    else this.route({ to, hops: 0, request }, answered);
  }

  /** The places of a subject's tokens, as far as this region knows; undefined where there is no such quota. */
  locateTokens(
    name: string,
    subject: Uint8Array,
    regionOfOrigin: (origin: Uint8Array) => string | undefined,
  ): TokenLocations | undefined {
    const { config, engine } = this.options;
    const policy = this.sync.book.named(name);
    if (policy === undefined || this.broker === undefined) return undefined;
    this.advance();
    const view = { engine, ledger: this.broker.ledger, region: config.region, regionOf: regionOfOrigin };
    return locateTokens(view, policy, subject);
  }

  /**
   * A region has refused this server, because another one runs under the same name: until all that have let it in,
   * it gives out no tokens that belong to the name.
   */
  nameRefused(by: string): void {
    const { logger } = this.options;
    if (this.refusedBy.size === 0)
      logger.error(
        { peer: by },
        'another server runs as this region: quotas give out no tokens of this region until the other one is gone',
      );
    this.refusedBy.add(by);
    this.guard(() => this.sync.book.suspend());
  }

  nameGranted(by: string): void {
    if (!this.refusedBy.delete(by) || this.refusedBy.size > 0) return;
    const { logger, clock } = this.options;
    logger.warn('this server holds the name of its region: quotas give out tokens of windows that begin from now on');
    this.guard(() => this.sync.book.resume(clock.now()));
  }

  established(link: Link): void {
    this.sync.established(link);
  }

  closed(link: Link): void {
    this.forwarded.lost(link);
    this.sync.closed(link);
  }

  /** With certificates: the home signs the policies, and other regions check that it has. */
  useSeals(seals: Seals): void {
    this.sync.seals = seals;
  }

  /** Each frame passes a gate (FrameGate has the table); one that does not is counted and logged, and does nothing. */
  receive(link: Link, frame: QuotaFrame): void {
    try {
      this.advance();
      if (frame.kind === FrameKind.policies) this.sync.receive(link, frame);
      else if (frame.kind === FrameKind.policyChange) this.receiveForwarded(link, frame);
      else if (frame.kind === FrameKind.policyAnswer) this.forwarded.receive(link, frame);
      else {
        const fault = this.sync.gate.findTokenFault(link, frame);
        if (fault !== undefined) throw new Error(fault);
        this.broker?.hear(frame);
      }
    } catch (error) {
      this.options.engine.releaseLocks();
      this.refuse(link, frame, (error as Error).message);
    }
  }

  private refuse({ region }: Link, { kind }: QuotaFrame, reason: string): void {
    const name = nameOfFrame(kind);
    this.figures.refused(region, name);
    this.log.say(`refused ${region} ${name}`, (suppressed) =>
      this.options.logger.warn({ peer: region, frame: name, reason, suppressed }, 'a frame about quotas was refused'),
    );
  }

  /** The wire calls every forwarded request a policy change, because those were the first. */
  private receiveForwarded(link: Link, frame: PolicyChange): void {
    const forwarded = readForwarded(frame, this.sync.book.home);
    const { to, request } = forwarded;
    if (to === this.options.config.region && (request.kind === 'define' || request.kind === 'drop')) {
      const quota = request.kind === 'define' ? request.definition.name : request.name;
      this.options.logger.info({ peer: link.region, change: request.kind, quota }, 'a region asks to change a quota');
    }
    this.route(forwarded, (answer) => link.send(answerTo(frame, answer)));
  }

  private route(forwarded: Routed, answered: Answered): void {
    const { to, request } = forwarded;
    if (to !== this.options.config.region)
      this.forwarded.forward(this.sync.peers.next(to), forwarded as Forwarded, answered);
    else if (request.kind === 'define' || request.kind === 'drop' || request.kind === 'home')
      this.sync.change(request).then(answered, (error: Error) => answered({ error: error.message }));
    else if (!this.guard(() => this.answer(request, answered))) answered({ error: 'internal error' });
  }

  private answer(request: LocalRequest, answered: Answered): void {
    this.advance();
    if (this.answers === undefined) answered({ error: 'quotas have not started: try again soon' });
    else if (this.broker === undefined) answered({ error: 'the server is stopping: try again at another address' });
    else this.answers.answer(request, answered);
  }

  private noteTakes(items: readonly TakeItem[], isAllowed: boolean): void {
    for (const { name, subject, cost } of items) {
      const policy = this.sync.book.named(name);
      if (policy !== undefined) this.takes.note(policy.number, cost, isAllowed, subject, 0, subject.length);
    }
  }

  /** Gives the policies to the lanes; with the first policy the threads begin to share the store, and ticks begin. */
  private async publish(): Promise<void> {
    const { surroundings, policies } = this;
    if (surroundings === undefined) return;
    if (policies.length > 0 && this.sharing === undefined) {
      this.ticking = setInterval(() => this.tick(), TICK_INTERVAL_MS);
      this.sharing = surroundings.share();
    }
    await this.sharing;
    this.onPolicies(this.policies);
  }

  private advance(): void {
    const { engine, clock } = this.options;
    engine.advanceTo(clock.now());
  }

  /** Runs `work`; a bug or a failing disk ends this operation and no other. False where it threw. */
  private guard(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.options.engine.releaseLocks();
      this.log.say((error as Error).message, (suppressed) =>
        this.options.logger.error({ err: error, suppressed }, 'an operation on quotas failed and was given up'),
      );
      return false;
    }
  }
}

function nameOfFrame(kind: QuotaFrame['kind']): string {
  return Object.entries(FrameKind).find(([, number]) => number === kind)?.[0] ?? String(kind);
}
