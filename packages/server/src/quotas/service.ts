import type { DeciderOptions } from '@quotadb/limits';
import {
  type Allotment,
  type PartialDefinition,
  type Policy,
  type Seals,
  type SharedSet,
  type TakeItem,
  TokenBroker,
} from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import {
  type PublishedPolicies,
  type QuotaAnswer,
  type QuotaRequest,
  systemMonotonicMs,
  TakeStatistics,
} from '@quotadb/resp';
import { UsageCounter } from '@quotadb/usage';
import { FrameKind, type PolicyChange, type QuotaFrame, serverName } from '@quotadb/wire';
import { OccasionalLog } from '../logging/occasional-log.js';
import { CountedSubjects } from './counted-subjects.js';
import { Everywhere } from './everywhere.js';
import { answerTo, type Forwarded, ForwardedRequests, readForwarded, regionOf } from './forwarded-requests.js';
import { LocalAnswers, type LocalRequest } from './local-answers.js';
import { MovingAllotments } from './moving-allotments.js';
import { isPolicyRequest, nameOfChanged, PolicySync } from './policy-sync.js';
import type { PolicySyncOptions } from './policy-sync-options.js';
import { type AuditedRequest, isAudited, QuotaEvents } from './quota-events.js';
import { RegionName } from './region-name.js';
import type { Neighbours } from './reminting.js';
import type { QuotaSurroundings } from './surroundings.js';
import { TokenFigures } from './token-figures.js';
import { locateTokens, type TokenLocations } from './token-locations.js';

/** How often waiting requests are checked, in addition to every flush and every answer of another region. */
const TICK_INTERVAL_MS = 10;

export type QuotaServiceOptions = PolicySyncOptions;

export type TokenSource = Pick<DeciderOptions, 'operations' | 'leases' | 'broker' | 'policyOf'>;

/** Requests that change nothing. */
const READS: ReadonlySet<LocalRequest['kind']> = new Set(['peek', 'info', 'subjects', 'unspent']);

type Answered = (answer: QuotaAnswer) => void;
type Fields = readonly (readonly [string, string | number])[];
type InfoRequest = Extract<QuotaRequest, { readonly kind: 'info' }>;
/** A request on its way to the region that has to do it, which for most is this one. */
type Routed = Omit<Forwarded, 'request'> & {
  readonly request: Exclude<QuotaRequest, { readonly kind: 'describeHome' | 'events' }>;
};

/** Quotas of a running server, on the main thread: policies, tokens, and requests that wait for tokens. */
export class QuotaService {
  /** Called with the policies after every change. */
  onPolicies: (published: PublishedPolicies) => void = () => {};
  readonly figures = new TokenFigures();
  readonly events: QuotaEvents;
  /** Takes that a lane could not answer alone, and those over HTTP. */
  readonly takes = new TakeStatistics(systemMonotonicMs);
  private readonly options: QuotaServiceOptions;
  /** Of this server among its peers. */
  private readonly name: string;
  private readonly sync: PolicySync;
  private readonly forwarded = new ForwardedRequests();
  private readonly log = new OccasionalLog(systemMonotonicMs);
  private readonly regionName: RegionName;
  private readonly everywhere: Everywhere;
  private broker: TokenBroker | undefined = undefined;
  private answers: LocalAnswers | undefined = undefined;
  private surroundings: QuotaSurroundings | undefined = undefined;
  private sharing: Promise<void> | undefined = undefined;
  private ticking: NodeJS.Timeout | undefined = undefined;

  constructor(options: QuotaServiceOptions) {
    this.options = options;
    this.name = serverName(options.config);
    this.sync = new PolicySync(options);
    this.regionName = new RegionName(this.sync.book, options.logger);
    this.everywhere = new Everywhere({
      region: this.name,
      knownServers: () => this.sync.knownServers(),
      reachable: () => this.sync.peers.regions(),
      route: (to, request, answered) => this.route({ to, hops: 0, request }, answered),
    });
    this.events = new QuotaEvents(options.logger, () => options.clock.now());
    this.sync.onChange = async () => {
      this.guard(() => this.broker?.policiesChanged());
      await this.publish();
    };
  }

  get policies(): readonly Policy[] {
    return this.sync.book.list();
  }

  /** Tokens in reservations that are not settled, by allotment. */
  openReservations(): ReadonlyMap<string, number> {
    return this.answers?.openReservations() ?? new Map();
  }

  /** The form that is sent to lanes. */
  get published(): PublishedPolicies {
    return { policies: this.policies, catalogue: this.sync.book.catalogue };
  }

  /** Whether policies are defined here. */
  get isHome(): boolean {
    return this.sync.book.isHome;
  }

  /** The part of the policies that is the same in all groups of a cluster, as this server has it. */
  get shared(): SharedSet {
    return this.sync.book.shared;
  }

  get home(): string {
    return this.sync.book.home;
  }

  /** Before the first client is served. */
  async start(surroundings: QuotaSurroundings): Promise<void> {
    const { config, engine, origin } = this.options;
    const region = this.name;
    const { book, peers } = this.sync;
    this.surroundings = surroundings;
    if (surroundings.disk !== undefined) this.sync.flush = surroundings.disk.flush;
    if (surroundings.reDatedAtMs !== undefined) book.dateAnew(surroundings.reDatedAtMs);
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
    const usage = config.usageExport === '' ? undefined : new UsageCounter(engine);
    const write = surroundings.disk?.write;
    const counted = new CountedSubjects(engine, book, () => config.ratePublishPercent);
    const here = { engine, region, book, broker, hasDisk, waitsForDisk, counted };
    this.answers = new LocalAnswers({ ...here, noteTakes, usage, write });
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
    this.guard(() => this.sync.retry());
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

  /** What slots that move to or from another group need; undefined before the start and after the stop. */
  get moving(): MovingAllotments | undefined {
    const { answers, broker } = this;
    if (answers === undefined || broker === undefined) return undefined;
    return new MovingAllotments({ answers, broker, book: this.sync.book });
  }

  /** Answers a request of a lane or of HTTP, here or in the region that it belongs to. */
  ask(request: QuotaRequest, answered: Answered): void {
    const to = regionOf(request, this.sync.book.home) ?? this.name;
    if (request.kind === 'describeHome') answered({ value: this.sync.describe() });
    else if (request.kind === 'events') answered({ value: this.events.last(request.count) });
    else if (isAudited(request)) this.adjust(request, to, answered);
    else if (request.kind === 'info')
      this.route({ to, hops: 0, request }, (answer) => this.addUnspent(request, answer, answered));
    else this.route({ to, hops: 0, request }, answered);
  }

  /** Quotas of another configuration, whose names begin with `prefix`; at the home they are defined, others dropped. */
  async useDefinitions(prefix: string, definitions: readonly PartialDefinition[]): Promise<void> {
    await this.sync.useDefinitions(prefix, definitions);
  }

  /** What decisions on limits take tokens with; undefined before the start and after the stop. */
  get tokenSource(): TokenSource | undefined {
    const { answers, broker } = this;
    if (answers === undefined || broker === undefined) return undefined;
    const { book } = this.sync;
    return { operations: answers.operations, leases: answers.leases, broker, policyOf: (name) => book.named(name) };
  }

  /** Where this region did not do it itself, that one has noted it too. */
  private adjust(request: AuditedRequest, to: string, answered: Answered): void {
    const note = (answer: QuotaAnswer) => {
      this.events.note(request, answer);
      answered(answer);
    };
    if (request.kind === 'reset' && request.region === undefined) this.everywhere.reset(request, note);
    else this.route({ to, hops: 0, request }, note);
  }

  private addUnspent({ name, subject }: InfoRequest, answer: QuotaAnswer, answered: Answered): void {
    if ('error' in answer || subject === undefined) answered(answer);
    else this.everywhere.addUnspent(name, subject, answer.value as Fields, answered);
  }

  /** The places of a subject's tokens, as far as this region knows; undefined where there is no such quota. */
  locateTokens(
    name: string,
    subject: Uint8Array,
    regionOfOrigin: (origin: Uint8Array) => string | undefined,
  ): TokenLocations | undefined {
    const { engine } = this.options;
    const policy = this.sync.book.named(name);
    if (policy === undefined || this.broker === undefined) return undefined;
    this.advance();
    const view = {
      engine,
      ledger: this.broker.ledger,
      book: this.sync.book,
      region: this.name,
      regionOf: regionOfOrigin,
    };
    return locateTokens(view, policy, subject);
  }

  /** A region has refused this server its name, or has let it in. */
  nameRefused(by: string): void {
    this.guard(() => this.regionName.refused(by));
  }

  nameGranted(by: string): void {
    this.guard(() => this.regionName.granted(by, this.options.clock.now()));
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

  /** The servers that this one replicates with, and those that an operator has removed. */
  useMembers(neighbours: Neighbours, removed: ReadonlySet<string>): void {
    this.sync.neighbours = neighbours;
    this.sync.removed = removed;
  }

  /** A server was added or removed by an operator. */
  membersChanged(): void {
    void this.sync.divide();
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
    if (to === this.name && isPolicyRequest(request)) {
      const quota = nameOfChanged(request);
      this.options.logger.info({ peer: link.region, change: request.kind, quota }, 'a region asks to change a quota');
    }
    this.route(forwarded, (answer) => {
      if (isAudited(request) && to === this.name) this.events.note(request, answer, link.region);
      link.send(answerTo(frame, answer));
    });
  }

  private route(forwarded: Routed, answered: Answered): void {
    const { to, request } = forwarded;
    if (to !== this.name) this.forwarded.forward(this.sync.peers.next(to), forwarded as Forwarded, answered);
    else if (isPolicyRequest(request))
      this.sync.change(request).then(answered, (error: Error) => answered({ error: error.message }));
    else {
      const held = this.holdAnswer(request, answered);
      if (!this.guard(() => this.answer(request, held))) answered({ error: 'internal error' });
    }
  }

  /** Answers when other servers hold what was done, where answers wait for that. */
  private holdAnswer({ kind }: LocalRequest, answered: Answered): Answered {
    const whenReplicated = this.surroundings?.whenReplicated;
    if (whenReplicated === undefined || READS.has(kind)) return answered;
    return (answer) => {
      if ('error' in answer || isDenied(answer.value)) answered(answer);
      else whenReplicated().then((refused) => answered(refused ?? answer));
    };
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
    this.onPolicies(this.published);
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

/** Of a take, a reservation or a lease. */
function isDenied(value: unknown): boolean {
  return (value as { readonly isAllowed?: boolean } | null)?.isAllowed === false;
}

function nameOfFrame(kind: QuotaFrame['kind']): string {
  return Object.entries(FrameKind).find(([, number]) => number === kind)?.[0] ?? String(kind);
}
