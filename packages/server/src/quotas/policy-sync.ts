import { peersOf } from '@quotadb/config';
import {
  type DefinitionSource,
  FrameGate,
  limitOf,
  nameOfOperation,
  type PartialDefinition,
  type PolicyBook,
  PolicyError,
  type PolicySet,
  type Seal,
  type Seals,
  startingRegions,
  textOfReaches,
  textOfSet,
  windowAt,
  writeEnvelope,
} from '@quotadb/quota';
import type { Link } from '@quotadb/replication';
import { type QuotaAnswer, type QuotaRequest, systemMonotonicMs } from '@quotadb/resp';
import { type Policies, regionOfServer, serverName } from '@quotadb/wire';
import { OccasionalLog } from '../logging/occasional-log.js';
import { MemberDivision } from './member-division.js';
import { openBook } from './open-book.js';
import { PolicyCopies } from './policy-copies.js';
import type { PolicySyncOptions } from './policy-sync-options.js';
import { RegionPeers } from './region-peers.js';
import { type Neighbours, NO_NEIGHBOURS, Reminting } from './reminting.js';
import { SharedChanges } from './shared-changes.js';

/** How long a change of policies waits at a home that does not know yet which policies there were before it started. */
const FIRST_POLICIES_TIMEOUT_MS = 2000;

/** A change of policies, which is made at their home. */
export type PolicyRequest = Extract<
  QuotaRequest,
  { readonly kind: 'define' | 'drop' | 'catalogue' | 'shared' | 'extra' | 'home' | 'remint' }
>;
type ExtraRequest = Extract<QuotaRequest, { readonly kind: 'extra' }>;
type HomeRequest = Extract<QuotaRequest, { readonly kind: 'home' }>;

/** A set that a peer has sent and this region has not taken over. */
interface RefusedSet {
  readonly set: PolicySet;
  readonly fault: string;
}

/**
 * Keeps the policies the same in all regions: the home defines them, and regions exchange them when they connect and
 * after every change.
 */
export class PolicySync {
  readonly book: PolicyBook;
  readonly peers: RegionPeers;
  readonly gate: FrameGate;
  private readonly shared: SharedChanges;
  /** Where replication has certificates; set before the first link. */
  seals: Seals | undefined = undefined;
  neighbours: Neighbours = NO_NEIGHBOURS;
  /** Resolves when the disk holds all changes so far. */
  flush: () => Promise<void> = async () => {};
  /** Servers that an operator has removed: gone for good. */
  removed: ReadonlySet<string> = new Set();
  /** Called after every change of the policies; resolves when the lanes have them. */
  onChange: () => Promise<void> = async () => {};
  private readonly options: PolicySyncOptions;
  private readonly hasDisk: boolean;
  private readonly log = new OccasionalLog(systemMonotonicMs);
  /** The reachable regions that a neighbour was last sent. */
  private readonly sentReaches = new WeakMap<Link, string>();
  /** Changes that wait for the first policies from a peer. */
  private readonly waiting: (() => void)[] = [];
  /** By region, the last one of each that has a link. */
  private readonly refused = new Map<string, RefusedSet>();
  /** Quotas that another configuration than --quota defines, and how their names begin. */
  private further: { readonly prefix: string; readonly definitions: readonly PartialDefinition[] } = {
    prefix: '',
    definitions: [],
  };
  private readonly copies: PolicyCopies;
  private readonly reminting: Reminting;
  private readonly division: MemberDivision;
  /** The home's seal, and the text that is under it. */
  private ownSeal: { readonly text: string; readonly by: Seals; readonly seal: Seal } | undefined = undefined;

  constructor(options: PolicySyncOptions) {
    this.options = options;
    const { config } = options;
    const region = serverName(config);
    this.hasDisk = config.dataDirectory !== '';
    this.peers = new RegionPeers(region);
    this.copies = new PolicyCopies({
      servers: config.replicateBeforeReply,
      timeoutMs: config.replicateTimeoutMs,
      versions: () => [...this.peers.all()].map(({ version = 0 }) => version),
    });
    this.book = openBook(options);
    this.shared = new SharedChanges({
      book: this.book,
      nowMs: () => this.nowMs(),
      define: (definition) => this.define(definition, { knownRegions: this.knownRegions() }),
      replaceCatalogue: (change) => this.replaceCatalogue(change, false),
    });
    this.division = new MemberDivision({
      book: this.book,
      peers: this.peers,
      logger: options.logger,
      knownServers: () => this.knownServers(),
      removed: () => this.removed,
      nowMs: () => this.nowMs(),
    });
    this.reminting = new Reminting({
      book: this.book,
      engine: options.engine,
      cluster: config.cluster,
      region,
      logger: options.logger,
      neighbours: () => this.neighbours,
      reachable: () => this.peers.regions(),
      flush: () => this.flush(),
      checkSameHome: () => this.checkSameHome(),
      nowMs: () => this.nowMs(),
    });
    this.gate = new FrameGate({ region, book: this.book, cluster: config.cluster, seals: () => this.seals });
  }

  /** Makes a change of policies. In a region that is not their home it fails, and the error says so. */
  async change(request: PolicyRequest): Promise<QuotaAnswer> {
    const { book } = this;
    if (book.set === undefined && request.kind !== 'home') await this.firstPolicies();
    try {
      let value: unknown = true;
      if (request.kind === 'home') this.settle(request);
      else {
        this.checkSameHome();
        this.division.takeStep();
        if (request.kind === 'remint') await this.reminting.remint(request);
        else if (request.kind === 'define') this.define(request.definition, { knownRegions: this.knownRegions() });
        else if (request.kind === 'catalogue') this.replaceCatalogue(request.change, request.isAtStart === true);
        else if (request.kind === 'extra') value = this.giveExtra(request);
        else if (request.kind === 'shared') value = this.shared.merge(request.shared);
        else value = book.drop(request.name, this.nowMs());
        if ('isShared' in request && request.isShared) value = { value, shared: this.shared.note(request) };
      }
      await this.publish();
      // A file that is read at the start is read again at the next one.
      if (request.kind === 'catalogue' && request.isAtStart) return { value };
      return (await this.copies.whenHeld(book.version)) ?? { value };
    } catch (error) {
      if (!(error instanceof PolicyError))
        this.options.logger.error({ err: error }, 'quotas.json could not be written; the policies stay as they were');
      return { error: (error as Error).message };
    }
  }

  /** Defines the quotas of the configuration, at the home, once it knows which policies there were before. */
  applyConfigured(): void {
    const { config, logger } = this.options;
    if (!this.book.isHome || this.book.set === undefined) return;
    this.division.takeStep();
    const before = this.book.shared;
    for (const definition of [...config.quotas, ...this.further.definitions]) {
      try {
        // Without a disk every start defines it again, and how much of it an earlier incarnation gave out is unknown.
        // Regions that are reached through others are not known yet.
        this.define(definition, { isRepeated: !this.hasDisk });
      } catch (error) {
        const fields = { quota: definition.name, reason: (error as Error).message };
        logger.error(fields, 'a quota of the configuration is refused; correct its definition');
      }
    }
    const dropped = this.dropFurther();
    if (config.group === '') return;
    this.shared.noteConfigured([...config.quotas, ...this.further.definitions], dropped, before);
  }

  /** Quotas whose names begin with `prefix` are these and no others, from now on; the home defines and drops them. */
  async useDefinitions(prefix: string, definitions: readonly PartialDefinition[]): Promise<void> {
    this.further = { prefix, definitions };
    if (!this.book.isHome || this.book.set === undefined) return;
    const versionBefore = this.book.version;
    this.applyConfigured();
    if (this.book.version !== versionBefore) await this.publish();
  }

  /** Returns the names of those that are dropped. */
  private dropFurther(): readonly string[] {
    const { prefix, definitions } = this.further;
    if (prefix === '') return [];
    const kept = new Set(definitions.map(({ name }) => name));
    const names = this.book.list().flatMap(({ name }) => (name.startsWith(prefix) && !kept.has(name) ? name : []));
    for (const name of names) this.book.drop(name, this.nowMs());
    return names;
  }

  established(link: Link): void {
    this.peers.add(link);
    this.send(link);
    this.sendReaches();
  }

  closed(link: Link): void {
    if (!this.peers.remove(link)) return;
    this.refused.delete(link.region);
    this.sendReaches();
  }

  /** QUOTA.HOME. */
  describe(): readonly (readonly [string, string | number])[] {
    const { home, version, isOwn, isHome } = this.book;
    const refused = [...this.refused].map(([region, { set, fault }]) => `${region}: version ${set.version}, ${fault}`);
    return [
      ['home', home],
      ['policies-version', version],
      ['written-here', isHome && isOwn ? 1 : 0],
      ['sealed', this.seals === undefined ? 0 : 1],
      ...this.division.describe(),
      ['refused', refused.join('; ')],
    ];
  }

  /** Throws for a frame that is refused. */
  receive(link: Link, frame: Policies): void {
    const { book } = this;
    const envelope = this.gate.openEnvelope(link, frame);
    const { home, set, seal } = envelope;
    if (this.peers.receive(link, envelope)) this.sendReaches();
    this.copies.check();
    if (home !== book.home) {
      const fields = { peer: link.region, there: home, here: book.home };
      this.log.say(`home ${link.region} ${home}`, () =>
        this.options.logger.warn(
          fields,
          'a peer has another home of quota policies, so none can be defined: give all regions the same --home',
        ),
      );
      return;
    }
    const isChanged = set === null ? book.begin() : this.adopt(link, set, seal);
    if (!isChanged) {
      void this.divide();
      return;
    }
    this.tookOver();
  }

  /** Policies that came while the disk failed are taken over when it works again. */
  retry(): void {
    if (this.book.retry(this.nowMs())) this.tookOver();
  }

  private tookOver(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
    this.applyConfigured();
    void this.publish();
  }

  private adopt(link: Link, set: PolicySet, seal: Seal | undefined): boolean {
    const { book, refused } = this;
    const nowMs = this.nowMs();
    refused.delete(link.region);
    if (!book.isNews(set, nowMs)) return false;
    const fault = this.gate.findSetFault(link, set, seal, nowMs);
    if (fault === undefined) return book.adopt(set, nowMs, seal);
    refused.set(link.region, { set, fault });
    throw new Error(
      `quota policies of version ${set.version} were not taken over, because ${fault}` +
        (book.isHome ? ' (QUOTA.HOME KEEP sends the own ones instead, QUOTA.HOME TAKE takes them)' : ''),
    );
  }

  /** An operator decides which policies the home has. */
  private settle({ takeFrom }: HomeRequest): void {
    const { book } = this;
    const set = takeFrom === undefined ? book.set : this.refused.get(takeFrom)?.set;
    if (set === undefined)
      throw new PolicyError(
        takeFrom === undefined
          ? 'the home has no policies of its own to keep'
          : `region ${takeFrom} has sent no policies that this region has refused: QUOTA.HOME lists them`,
      );
    const others = [...this.refused.values()].map((refused) => refused.set);
    book.settle(set, this.nowMs(), others);
    this.refused.clear();
    this.options.logger.warn(
      { version: book.version, from: takeFrom ?? book.home },
      'an operator has decided which quota policies hold',
    );
  }

  /** Sends the policies to all neighbours, and hands them to this region's lanes. */
  private async publish(): Promise<void> {
    for (const { link } of this.peers.all()) this.send(link);
    await this.onChange();
  }

  private send(link: Link): void {
    const { home, set = null } = this.book;
    const reaches = this.peers.reachesFor(link);
    this.sentReaches.set(link, textOfReaches(reaches));
    link.send(writeEnvelope({ home, hasDisk: this.hasDisk, set, seal: this.seal(), reaches }));
  }

  /**
   * At the home its own, made anew for other policies and other certificates; elsewhere the one that came with them.
   */
  private seal(): Seal | undefined {
    const { book, seals } = this;
    if (!book.isHome || book.set === undefined || seals === undefined) return book.seal;
    const text = textOfSet(book.set);
    if (this.ownSeal?.text !== text || this.ownSeal.by !== seals)
      this.ownSeal = { text, by: seals, seal: seals.seal(text) };
    return this.ownSeal.seal;
  }

  /** Sends the regions that can be reached from here to those neighbours for which they have changed. */
  private sendReaches(): void {
    for (const { link } of this.peers.all())
      if (this.sentReaches.get(link) !== textOfReaches(this.peers.reachesFor(link))) this.send(link);
  }

  private define(definition: PartialDefinition, source: DefinitionSource): void {
    const allocator = definition.allocator ?? this.book.homeRegion;
    this.book.define({ ...definition, allocator }, this.nowMs(), (region) => this.peers.stateOf(region), source);
  }

  /** A file that is read at the start is like the quotas of the configuration: see applyConfigured. */
  private replaceCatalogue(change: unknown, isAtStart: boolean): void {
    const source = isAtStart ? { isRepeated: !this.hasDisk } : { knownRegions: this.knownRegions() };
    const before = this.book.shared;
    this.book.replaceCatalogue(change, this.nowMs(), (region) => this.peers.stateOf(region), source);
    if (isAtStart && this.options.config.group !== '') this.shared.noteCatalogueAtStart(before);
  }

  /** Returns the subject's limit in this window. */
  private giveExtra({ name, subject, amount, id }: ExtraRequest): number {
    const nowMs = this.nowMs();
    const operation = id === undefined ? undefined : nameOfOperation(id);
    const policy = this.book.giveExtra(name, { subject, amount, operation }, nowMs);
    return limitOf(policy, subject, windowAt(policy, nowMs));
  }

  /** This server and its peers, connected or not, and those behind them. */
  knownServers(): ReadonlySet<string> {
    const { config } = this.options;
    const members = [...this.neighbours.members()].map((member) => member.region);
    const peers = peersOf(config).map((peer) => peer.region);
    return new Set([serverName(config), this.book.home, ...peers, ...members, ...this.peers.regions()]);
  }

  /** The servers that are known, their regions, and those of policies that there are. */
  private knownRegions(): ReadonlySet<string> {
    const servers = [...this.knownServers()];
    const starting = this.book.list().flatMap((policy) => [...startingRegions(policy)]);
    return new Set([...servers, ...servers.map(regionOfServer), ...starting]);
  }

  private nowMs(): number {
    const { engine, clock } = this.options;
    return Math.max(engine.nowMs, clock.now());
  }

  /** A home that has just connected to a peer receives the former policies from it within moments. */
  private firstPolicies(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      setTimeout(resolve, FIRST_POLICIES_TIMEOUT_MS);
    });
  }

  /**
   * At the home, when a server has come, or says what it holds: the next step of a division of tokens among members.
   */
  async divide(): Promise<void> {
    if (this.division.takeStep()) await this.publish();
  }

  /** Two homes would give out the same limit twice. */
  private checkSameHome(): void {
    const { home } = this.book;
    for (const view of this.peers.all()) {
      if (view.home === undefined || view.home === home) continue;
      throw new PolicyError(
        `region ${view.link.region} takes ${view.home} for the home of policies, and this region ${home}: ` +
          'give all regions the same --home',
      );
    }
  }
}

export function isPolicyRequest(request: QuotaRequest): request is PolicyRequest {
  return ['define', 'drop', 'catalogue', 'shared', 'extra', 'home', 'remint'].includes(request.kind);
}

export function nameOfChanged(request: PolicyRequest): string | undefined {
  if (request.kind === 'define') return request.definition.name;
  return 'name' in request ? request.name : undefined;
}
