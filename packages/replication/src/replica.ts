import { type Acknowledgements, type Engine, type Holder, Merge, OWN_ORIGIN, versionAt } from '@quotadb/engine';
import type { Hello, QuotaFrame } from '@quotadb/wire';
import { AntiEntropy } from './anti-entropy.js';
import { Feeds } from './feeds.js';
import { Freshness } from './freshness.js';
import type { Acquaintance, RefusalReason } from './handshake.js';
import { nameOfOrigin, type ReplicaIdentity } from './identity.js';
import { type Carrier, Link } from './link.js';
import { Member } from './member.js';
import { OutgoingFeed } from './outgoing-feed.js';
import { PartMaker } from './parts.js';
import { PROTOCOL_VERSIONS, type ProtocolRange } from './protocol-versions.js';
import { DEFAULT_SETTINGS, type ReplicationSettings } from './settings.js';
import { covers, type Watermarks } from './vectors.js';

export interface ReplicaClock {
  /** Never set back; for everything that lasts. */
  monotonicMs(): number;
  /** What others would call now. */
  wallMs(): number;
}

export interface ReplicaEvents {
  established(link: Link): void;
  closed(link: Link): void;
  /** This side would not talk to the other, or the other to this one. */
  refused(link: Link, reason: RefusalReason, by: 'here' | 'there'): void;
  silent(link: Link): void;
  /** The clocks of the two differ by more than the bound. */
  skewed(link: Link): void;
  outOfMemory(link: Link): void;
  /** A member has told how far it has come. */
  seen(link: Link): void;
  /** Two replicas held something else at the same watermark. */
  mismatch(link: Link, origin: string, shard: number): void;
  /** They hold the same again, so long after the difference was first seen. */
  repaired(link: Link, origin: string, shard: number, tookMs: number): void;
  /** A mistake in the program, met on the way of one link; that link is over. */
  fault(link: Link, error: unknown): void;
  /** Something about quotas. */
  quota(link: Link, frame: QuotaFrame): void;
  /** A member was away for so long that it is not waited for any more. */
  forgotten(member: Member): void;
}

export interface ReplicaOptions {
  readonly engine: Engine;
  readonly identity: ReplicaIdentity;
  readonly clock: ReplicaClock;
  readonly acknowledgements: Acknowledgements;
  /** Up to which of the own changes the own disk holds everything; undefined where there is no disk. */
  readonly durable?: (shard: number) => number;
  /** The same for another origin's changes, by its index: what the own disk does not hold, a crash may take back. */
  readonly durableOf?: (shard: number, origin: number) => number;
  /** The own sequence as it came from the disk, and when; needed where changes may have been made since. */
  readonly atStart?: { readonly versions: ArrayLike<number>; readonly nowMs: number };
  readonly settings?: Partial<ReplicationSettings>;
  /** For tests of clusters with several releases. */
  readonly protocols?: ProtocolRange;
  readonly events?: Partial<ReplicaEvents>;
}

/**
 * One replica among others: what it says and does, without a network, a timer or a thread. Whoever drives it hands it
 * streams (`open`), frames (`link.receive`) and time (`tick`).
 *
 * Rules, each of which the simulator tries to break:
 *   - it tells nobody of an own change that its own disk does not hold;
 *   - what came from others is passed on as what it is;
 *   - what is over is forgotten only when the disk and every member know.
 */
export class Replica {
  readonly engine: Engine;
  readonly identity: ReplicaIdentity;
  readonly clock: ReplicaClock;
  readonly settings: ReplicationSettings;
  readonly protocols: ProtocolRange;
  readonly events: Partial<ReplicaEvents>;
  readonly merge: Merge;
  readonly freshness = new Freshness();
  readonly antiEntropy: AntiEntropy;
  readonly members = new Map<string, Member>();
  readonly links = new Set<Link>();
  readonly ownName: string;
  private readonly durable: ((shard: number) => number) | undefined;
  private readonly durableOf: ((shard: number, origin: number) => number) | undefined;
  private readonly acknowledgements: Acknowledgements;
  private readonly removed = new Set<string>();
  private readonly parts: PartMaker;
  private readonly feeds: Feeds;
  private readonly names: string[] = [];
  private readonly indexes = new Map<string, number>();
  /** By origin: where `seenOf` puts its answer. */
  private readonly watermarks: Watermarks[] = [];
  /** The own sequence as it was found at the start, and the first version that this run could give. */
  private readonly restored: Float64Array;
  private readonly firstVersion: number;
  private holder: Holder | undefined = undefined;

  constructor(options: ReplicaOptions) {
    const { engine, identity } = options;
    this.engine = engine;
    this.identity = identity;
    this.clock = options.clock;
    this.settings = { ...DEFAULT_SETTINGS, ...options.settings };
    this.protocols = options.protocols ?? PROTOCOL_VERSIONS;
    this.events = options.events ?? {};
    this.acknowledgements = options.acknowledgements;
    this.durable = options.durable;
    this.durableOf = options.durableOf;
    this.holder = options.acknowledgements.peers;
    this.ownName = nameOfOrigin(identity.origin);
    this.merge = new Merge(engine);
    const { partComponents, partKeyBytes } = this.settings;
    this.parts = new PartMaker(engine, { components: partComponents, keyBytes: partKeyBytes });
    this.feeds = new Feeds({
      links: this.links,
      ownOrigin: this.ownName,
      seenOf: (origin) => this.seenOf(origin),
      stallMs: this.settings.stallMs,
    });
    this.antiEntropy = new AntiEntropy(this);
    const { versions, nowMs } = options.atStart ?? { versions: this.seenOf(this.ownName), nowMs: engine.nowMs };
    this.restored = Float64Array.from(versions);
    this.firstVersion = versionAt(nowMs);
  }

  // ---- members and links ------------------------------------------------------------------------------------------------

  /** A replica that is to be waited for from now on, connected or not. */
  addMember(region: string): void {
    this.removed.delete(region);
    const member = this.members.get(region);
    if (member !== undefined) member.isConfigured = true;
    else this.join(region, true);
  }

  /** It is not waited for any more, and not let in again until it is added. */
  removeMember(region: string): boolean {
    const member = this.members.get(region);
    this.removed.add(region);
    if (member === undefined) return false;
    this.members.delete(region);
    member.link?.refuse({ code: 'removed', message: `${this.identity.region} has removed ${region} from its peers` });
    return true;
  }

  /** A stream to somebody. Says hello at once. */
  open(carrier: Carrier, acquaintance: Acquaintance): Link {
    const link = new Link(this, carrier, acquaintance, this.clock.monotonicMs());
    this.links.add(link);
    return link;
  }

  /** A peer has said who it is, and everything fits. Its member, or why it cannot come in. */
  admit(link: Link, hello: Hello): Member | 'duplicate' | 'removed' {
    if (this.removed.has(hello.region)) return 'removed';
    const member = this.members.get(hello.region) ?? this.join(hello.region, false);
    const other = member.link;
    if (other !== undefined && !other.isClosed) {
      // Both have dialed: one of the two links goes. Where one side dialed twice, its older link is dead by now.
      if (other.isPreferred && !link.isPreferred) return 'duplicate';
      other.end();
    }
    member.begin(hello.origin, this.engine.shardCount);
    // Known from here on, so that its peers can be told how far this node has come with it.
    this.engine.origins.intern(hello.origin);
    member.link = link;
    member.isForgotten = false;
    member.heardAtMs = this.clock.monotonicMs();
    return member;
  }

  linkEstablished(link: Link): void {
    this.feeds.choose(this.clock.monotonicMs());
    this.events.established?.(link);
  }

  linkClosed(link: Link): void {
    this.links.delete(link);
    this.feeds.forget(link);
    this.antiEntropy.forget(link);
    const member = this.members.get(link.region);
    if (member?.link === link) {
      member.link = undefined;
      member.heardAtMs = this.clock.monotonicMs();
    }
    this.events.closed?.(link);
  }

  isConnected(region: string): boolean {
    return this.members.get(region)?.link?.isEstablished ?? false;
  }

  /** How many members have seen all of these own versions. */
  acknowledgedBy(versions: ArrayLike<number>): number {
    let count = 0;
    for (const member of this.members.values()) {
      const seen = member.seen.find(this.ownName);
      if (seen !== undefined && covers(seen, versions)) count++;
    }
    return count;
  }

  private join(region: string, isConfigured: boolean): Member {
    const member = new Member(region, this.engine.shardCount, isConfigured, this.clock.monotonicMs());
    this.members.set(region, member);
    this.holder ??= this.acknowledgements.joinPeers();
    return member;
  }

  // ---- what this node knows ---------------------------------------------------------------------------------------------

  /** All origins that this node has heard of, by name; the first is its own. */
  origins(): readonly string[] {
    const { origins, shardCount } = this.engine;
    for (let index = this.names.length; index < origins.count; index++) {
      const name = nameOfOrigin(origins.idOf(index));
      this.names.push(name);
      this.indexes.set(name, index);
      this.watermarks.push(new Float64Array(shardCount));
    }
    return this.names;
  }

  /** These, and those of which only others have spoken: nothing came from them yet, which is worth knowing too. */
  spokenOf(): readonly string[] {
    const known = this.origins();
    const others = [...this.freshness.origins].filter((origin) => !this.indexes.has(origin));
    return others.length === 0 ? known : [...known, ...others];
  }

  /** How far this node has come with an origin, as of now. The answer is good until somebody asks again: copy it to keep it. */
  seenOf(origin: string): Watermarks {
    const { engine } = this;
    this.origins();
    const index = this.indexes.get(origin);
    if (index === undefined) return new Float64Array(engine.shardCount);
    const seen = this.watermarks[index];
    for (let shard = 0; shard < seen.length; shard++) seen[shard] = engine.seen(shard, index);
    return seen;
  }

  /** Whether everything that this node has seen of others would still be there after a crash. */
  get keepsAll(): boolean {
    return this.durableOf === undefined;
  }

  /** How far this node has come with another origin as far as its disk holds it, into `kept`. */
  keptOf(origin: string, kept: Watermarks): Watermarks {
    this.origins();
    const index = this.indexes.get(origin);
    const { durableOf, engine } = this;
    if (index !== undefined)
      for (let shard = 0; shard < kept.length; shard++)
        kept[shard] = durableOf === undefined ? engine.seen(shard, index) : durableOf(shard, index);
    return kept;
  }

  /**
   * Others know more of this node's own changes than its disk gave back: a sync that was promised and not kept, or an old
   * copy of the data directory. Going on under the same identity would swallow increments.
   */
  findLostState(seenByPeer: Watermarks): string | undefined {
    const { region } = this.identity;
    for (let shard = 0; shard < seenByPeer.length; shard++) {
      const version = seenByPeer[shard];
      const isFromBefore = version > this.restored[shard] && version < this.firstVersion;
      if (isFromBefore || version > this.engine.seen(shard, OWN_ORIGIN))
        return `the data of ${region} is older than what its peers hold of it: start it as a new incarnation (quotadb repair --new-incarnation)`;
    }
    return undefined;
  }

  makeFeed(origin: number, watermarks: readonly number[]): OutgoingFeed {
    const durable = origin === OWN_ORIGIN ? this.durable : undefined;
    return new OutgoingFeed({ engine: this.engine, parts: this.parts, origin, watermarks, durable });
  }

  /** Own changes up to here may be told. */
  tellable(shard: number): number {
    return this.durable?.(shard) ?? Number.POSITIVE_INFINITY;
  }

  /** A part of a walk came over a link. */
  hearPart(origin: string, link: Link, nowMs: number): void {
    this.feeds.heard(origin, link, nowMs);
  }

  /** Whether an origin's changes come to this node over this link. */
  isFedBy(origin: string, link: Link): boolean {
    return this.feeds.isFedBy(origin, link);
  }

  askAgain(origin: string, link: Link): void {
    this.feeds.askAgain(origin, link, this.clock.monotonicMs());
  }

  // ---- time -------------------------------------------------------------------------------------------------------------

  /** Does everything that is due; true when there is more to send, so that the next tick should follow soon. */
  tick(): boolean {
    const nowMs = this.clock.monotonicMs();
    this.parts.forget();
    let hasMore = false;
    for (const origin of this.freshness.origins) this.freshness.settle(origin, this.seenOf(origin));
    for (const link of [...this.links]) if (this.tickLink(link, nowMs)) hasMore = true;
    this.feeds.consider(nowMs);
    this.antiEntropy.tick(nowMs);
    this.forgetSilent(nowMs);
    this.acknowledge();
    return hasMore;
  }

  /**
   * The disk is about to write everything that is in the store now. Own changes are encoded here, so that they leave as
   * soon as this flush ends, and not one flush later.
   */
  prepareOwnChanges(): void {
    this.parts.forget();
    for (const link of this.links) link.outgoing(this.ownName)?.prepare();
  }

  /** One link's mistake is not the others'. */
  private tickLink(link: Link, nowMs: number): boolean {
    try {
      return link.tick(nowMs);
    } catch (error) {
      if (this.events.fault === undefined) throw error;
      this.engine.releaseLocks();
      this.events.fault(link, error);
      link.end();
      return false;
    }
  }

  private forgetSilent(nowMs: number): void {
    for (const member of this.members.values()) {
      const isAway = member.link === undefined && !member.isForgotten;
      if (!isAway || nowMs - member.heardAtMs < this.settings.forgetAfterMs) continue;
      member.isForgotten = true;
      if (!member.isConfigured) this.members.delete(member.region);
      this.events.forgotten?.(member);
    }
  }

  /** Lets the store forget what is over and known to every member. */
  private acknowledge(): void {
    const { engine, holder } = this;
    if (holder === undefined) return;
    const waitedFor = [...this.members.values()].filter(({ isForgotten }) => !isForgotten);
    for (const [index, origin] of this.origins().entries()) {
      const kept = waitedFor.map((member) => member.kept.find(origin));
      for (let shard = 0; shard < engine.shardCount; shard++) {
        let lowest = Number.POSITIVE_INFINITY;
        for (const versions of kept) lowest = Math.min(lowest, versions?.[shard] ?? 0);
        if (index !== OWN_ORIGIN) engine.forgetting.acknowledgeOther(shard, index, lowest);
        else if (holder.acknowledged(shard) !== lowest) holder.acknowledge(shard, lowest);
      }
    }
  }
}
