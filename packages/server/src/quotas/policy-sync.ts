import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import {
  FrameGate,
  type PartialDefinition,
  PolicyBook,
  PolicyError,
  type PolicySet,
  type SavedPolicies,
  type Seal,
  type Seals,
  textOfSet,
  writeEnvelope,
} from '@quotadb/quota';
import { type Link, nameOfOrigin } from '@quotadb/replication';
import { type Clock, type QuotaAnswer, type QuotaRequest, systemMonotonicMs } from '@quotadb/resp';
import type { Policies } from '@quotadb/wire';
import type { Logger } from 'pino';
import { OccasionalLog } from '../logging/occasional-log.js';
import { loadBook, loadFormerPolicies, saveBook, saveFormerPolicies } from './book-file.js';
import { RegionPeers } from './region-peers.js';

/** How long a change of policies waits at a home that does not know yet which policies there were before it started. */
const FIRST_POLICIES_TIMEOUT_MS = 2000;

export interface PolicySyncOptions {
  readonly config: Configuration;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly origin: Uint8Array;
  /** False where this incarnation of the replica has run before. */
  readonly isNewIncarnation: boolean;
}

/** A change of policies, which is made at their home. */
type PolicyRequest = Extract<QuotaRequest, { readonly kind: 'define' | 'drop' }>;
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
  /** Where replication has certificates; set before the first link. */
  seals: Seals | undefined = undefined;
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
  /** The home's seal, and the text that is under it. */
  private ownSeal: { readonly text: string; readonly by: Seals; readonly seal: Seal } | undefined = undefined;

  constructor(options: PolicySyncOptions) {
    this.options = options;
    const { config, clock, origin, isNewIncarnation } = options;
    const { dataDirectory, region, peers } = config;
    const hasDisk = dataDirectory !== '';
    this.hasDisk = hasDisk;
    this.peers = new RegionPeers(region);
    const saved = hasDisk ? loadBook(dataDirectory) : undefined;
    const former = hasDisk && saved === undefined ? loadFormerPolicies(dataDirectory) : undefined;
    if (former !== undefined)
      options.logger.warn(
        { data: dataDirectory, version: former.set?.version },
        'quotas.json is gone: the policies are those of quotas.previous.json, and quotas begin with their next window',
      );
    let written: SavedPolicies | undefined = saved;
    this.book = new PolicyBook({
      home: homeOf(config),
      region,
      incarnation: nameOfOrigin(origin),
      isNewIncarnation,
      hasDisk,
      nowMs: clock.now(),
      skewBoundMs: config.clockSkewBoundMs,
      isAlone: peers.length === 0,
      ...(saved && { saved }),
      former,
      save: (book) => {
        if (!hasDisk) return;
        if (written?.set !== undefined && written.set.version !== book.set?.version)
          saveFormerPolicies(dataDirectory, { set: written.set, seal: written.seal });
        saveBook(dataDirectory, book);
        written = book;
      },
    });
    this.gate = new FrameGate({ region, book: this.book, cluster: config.cluster, seals: () => this.seals });
  }

  /** Makes a change of policies. In a region that is not their home it fails, and the error says so. */
  async change(request: PolicyRequest | HomeRequest): Promise<QuotaAnswer> {
    const { book } = this;
    if (book.set === undefined && request.kind !== 'home') await this.firstPolicies();
    try {
      let value: unknown = true;
      if (request.kind === 'home') this.settle(request);
      else {
        this.checkSameHome();
        value = request.kind === 'define' ? this.define(request.definition) : book.drop(request.name, this.nowMs());
      }
      await this.publish();
      return { value };
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
    for (const definition of config.quotas) {
      try {
        // Without a disk every start defines it again, and how much of it an earlier incarnation gave out is unknown.
        this.define(definition, !this.hasDisk);
      } catch (error) {
        const fields = { quota: definition.name, reason: (error as Error).message };
        logger.error(fields, 'a quota of the configuration is refused; correct its --quota');
      }
    }
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
      ['refused', refused.join('; ')],
    ];
  }

  /** Throws for a frame that is refused. */
  receive(link: Link, frame: Policies): void {
    const { book } = this;
    const envelope = this.gate.openEnvelope(link, frame);
    const { home, set, seal } = envelope;
    if (this.peers.receive(link, envelope)) this.sendReaches();
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
    if (!isChanged) return;
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
    this.sentReaches.set(link, JSON.stringify(reaches));
    link.send(writeEnvelope({ home, hasDisk: this.hasDisk, set, seal: this.seal(), reaches }));
  }

  /** At the home its own, made anew for other policies and other certificates; elsewhere the one that came with them. */
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
      if (this.sentReaches.get(link) !== JSON.stringify(this.peers.reachesFor(link))) this.send(link);
  }

  private define(definition: PartialDefinition, isRepeated = false): true {
    const allocator = definition.allocator ?? this.book.home;
    this.book.define({ ...definition, allocator }, this.nowMs(), (region) => this.peers.stateOf(region), isRepeated);
    return true;
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

/** The region where policies are defined: --home, or the first in the alphabet of this region and its peers. */
function homeOf({ home, region, peers }: Configuration): string {
  return home !== '' ? home : [region, ...peers.map((peer) => peer.region)].sort()[0];
}
