import { type Acknowledgements, type Engine, type Holder, Merge, OWN_ORIGIN } from '@quotadb/engine';
import type { Hello } from '@quotadb/wire';
import { AntiEntropy } from './anti-entropy.js';
import { Freshness } from './freshness.js';
import type { Acquaintance, RefusalReason } from './handshake.js';
import { nameOfOrigin, REPLICA_ID_BYTES, type ReplicaIdentity } from './identity.js';
import { IncomingStreams } from './incoming-streams.js';
import { Link, type LinkTransport } from './link.js';
import { Member } from './member.js';
import { OutgoingStream } from './outgoing-stream.js';
import { OwnHistory } from './own-history.js';
import { type OldCopyProof, OwnStarts } from './own-starts.js';
import { PartMaker } from './parts.js';
import { Processes } from './processes.js';
import { PROTOCOL_VERSIONS, type ProtocolRange } from './protocol-versions.js';
import type { ReplicaClock, ReplicaEvents, ReplicaOptions } from './replica-options.js';
import { DEFAULT_SETTINGS, type ReplicationSettings } from './settings.js';
import { findTwin } from './twins.js';
import { UnansweredResets } from './unanswered-resets.js';
import { covers, type Watermarks } from './watermarks.js';

/** Of the name of an origin, in hexadecimal. */
const REPLICA_ID_DIGITS = REPLICA_ID_BYTES * 2;

/**
 * One replica of a cluster, without a network, a timer or a thread: the mesh, or the simulator, hands it transports
 * (`open`), frames (`link.receive`) and time (`tick`).
 *
 * Rules, each of which the simulator tries to break:
 *   - an own change is sent only when the own disk holds it;
 *   - components of other origins are passed on unchanged;
 *   - an ended generation is collected only when the disk and every member have acknowledged its end.
 */
export class Replica {
  readonly engine: Engine;
  readonly identity: ReplicaIdentity;
  readonly clock: ReplicaClock;
  readonly settings: ReplicationSettings;
  readonly protocols: ProtocolRange;
  readonly boot: number;
  readonly events: Partial<ReplicaEvents>;
  readonly merge: Merge;
  readonly freshness = new Freshness();
  readonly processes = new Processes();
  readonly ownHistory = new OwnHistory();
  readonly antiEntropy: AntiEntropy;
  readonly incoming: IncomingStreams;
  readonly members = new Map<string, Member>();
  readonly links = new Set<Link>();
  readonly ownName: string;
  private readonly durable: ((shard: number) => number) | undefined;
  private readonly durableOfOther: ((shard: number, origin: number) => number) | undefined;
  private readonly acknowledgements: Acknowledgements;
  private readonly removed = new Set<string>();
  private readonly parts: PartMaker;
  private readonly unansweredResets: UnansweredResets;
  private names: string[] = [];
  private readonly indexes = new Map<string, number>();
  /** The slots of origins were reused this often when the names were read. */
  private reuses = 0;
  /** By origin: the array that `seenOf` fills and returns. */
  private readonly watermarks: Watermarks[] = [];
  readonly ownStarts: OwnStarts;
  private oldCopy: RefusalReason | undefined = undefined;
  private holder: Holder | undefined = undefined;

  constructor(options: ReplicaOptions) {
    const { engine, identity } = options;
    this.engine = engine;
    this.identity = identity;
    this.clock = options.clock;
    this.settings = { ...DEFAULT_SETTINGS, ...options.settings };
    this.protocols = options.protocols ?? PROTOCOL_VERSIONS;
    this.boot = options.boot ?? 0;
    this.events = options.events ?? {};
    this.acknowledgements = options.acknowledgements;
    this.durable = options.durable;
    this.durableOfOther = options.durableOf;
    this.holder = options.acknowledgements.peers;
    this.ownName = nameOfOrigin(identity.origin);
    this.merge = new Merge(engine);
    const { partComponents, partKeyBytes } = this.settings;
    this.parts = new PartMaker(engine, { components: partComponents, keyBytes: partKeyBytes });
    this.incoming = new IncomingStreams({
      links: this.links,
      ownOrigin: this.ownName,
      seenOf: (origin) => this.seenOf(origin),
      stallMs: this.settings.stallMs,
    });
    this.antiEntropy = new AntiEntropy(this);
    this.unansweredResets = new UnansweredResets(this);
    const present = { versions: Float64Array.from(this.seenOf(this.ownName)), nowMs: engine.nowMs };
    this.ownStarts = new OwnStarts(engine, options.starts ?? [present], options.release ?? (() => true));
  }

  // ---- members and links ------------------------------------------------------------------------------------------

  /** From now on garbage collection waits for this replica, connected or not. */
  addMember(region: string): void {
    this.removed.delete(region);
    const member = this.members.get(region);
    if (member !== undefined) member.isConfigured = true;
    else this.join(region, true);
  }

  /** The same for a replica that had dialed this one before it was started anew, until it is given up. */
  rememberMember(region: string): void {
    if (!this.members.has(region) && !this.removed.has(region)) this.join(region, false);
  }

  /** Garbage collection does not wait for it any more, and its links are refused until it is added again. */
  removeMember(region: string): boolean {
    const member = this.members.get(region);
    this.removed.add(region);
    if (member === undefined) return false;
    this.members.delete(region);
    this.countRegions();
    member.link?.refuse({ code: 'removed', message: `${this.identity.region} has removed ${region} from its peers` });
    return true;
  }

  /** Begins a link; its hello is sent at once. */
  open(transport: LinkTransport, acquaintance: Acquaintance): Link {
    const link = new Link(this, transport, acquaintance, this.clock.monotonicMs());
    this.links.add(link);
    return link;
  }

  /** The member of a peer whose hello fits, or why the link is refused nevertheless. */
  admit(link: Link, hello: Hello): Member | RefusalReason {
    if (this.oldCopy !== undefined) return this.oldCopy;
    if (this.removed.has(hello.region))
      return { code: 'removed', message: `${hello.region} was removed from the peers here (quotadb peers add)` };
    const twin = findTwin(this, hello);
    if (twin !== undefined) return { code: 'twin', message: twin };
    // From here on this node reports its watermarks of that origin to its peers.
    const { origins } = this.engine;
    if (origins.intern(hello.origin) === -1)
      return {
        code: 'origins',
        message: `${this.identity.region} cannot take in this incarnation of ${hello.region}: ${origins.refusal}`,
      };
    const member = this.members.get(hello.region) ?? this.join(hello.region, false);
    const other = member.link;
    if (other !== undefined && !other.isClosed) {
      // Both have dialed: one of the two links is closed. Where one side dialed twice, its older link is dead.
      if (other.isPreferred && !link.isPreferred)
        return { code: 'duplicate', message: 'there is another link between these two already' };
      other.end();
    }
    member.begin(hello.origin, this.engine.shardCount);
    member.link = link;
    member.isGivenUp = false;
    member.heardAtMs = this.clock.monotonicMs();
    return member;
  }

  /** A peer refuses this node. */
  noteRefusal(link: Link, reason: RefusalReason): void {
    // Another process runs under this name and goes on changing: that there was no old copy is to be shown anew.
    if (reason.code === 'twin') for (const member of this.members.values()) member.confirmedAtMs = undefined;
    this.events.refused?.(link, reason, 'there');
  }

  linkEstablished(link: Link): void {
    this.incoming.choose(this.clock.monotonicMs());
    this.events.established?.(link);
  }

  linkClosed(link: Link): void {
    this.links.delete(link);
    this.incoming.remove(link);
    this.antiEntropy.cancel(link);
    const member = this.members.get(link.region);
    if (member?.link === link) {
      member.link = undefined;
      member.heardAtMs = link.heardAtMs;
      const nowMs = this.clock.monotonicMs();
      const process = { origin: nameOfOrigin(link.origin), boot: link.boot, atMs: nowMs };
      member.end(process, nowMs - this.settings.nameLeaseMs);
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
    this.countRegions();
    this.holder ??= this.acknowledgements.joinPeers();
    return member;
  }

  // ---- origins and watermarks -------------------------------------------------------------------------------------

  /** All origins that the store knows, by name; the first is its own. */
  origins(): readonly string[] {
    const { origins, shardCount } = this.engine;
    if (this.reuses !== origins.reuseCount) {
      this.reuses = origins.reuseCount;
      this.names = [];
      this.indexes.clear();
    }
    for (let index = this.names.length; index < origins.count; index++) {
      const name = nameOfOrigin(origins.idOf(index));
      this.names.push(name);
      this.indexes.set(name, index);
      this.watermarks[index] ??= new Float64Array(shardCount);
      if (index === origins.count - 1) this.countRegions();
    }
    return this.names;
  }

  /** Regions are members, and those behind a hub, whose changes have come: incarnations of one have one replica id. */
  private countRegions(): void {
    const replicas = new Set(this.names.map((name) => name.slice(0, REPLICA_ID_DIGITS)));
    this.engine.setRegionCount(Math.max(this.members.size + 1, replicas.size));
  }

  /**
   * How long counts are on their way here, at most: as long as a region may keep them, and the longest round trip. Half
   * of it is the way from a neighbour, all of it the way through a hub.
   */
  private measureDelay(): void {
    let roundTripMs = -1;
    for (const { isEstablished, figures } of this.links)
      if (isEstablished) roundTripMs = Math.max(roundTripMs, figures.roundTripMs);
    this.engine.setCountDelay(roundTripMs === -1 ? 0 : Math.ceil(this.settings.sendWithinMs + roundTripMs));
  }

  /** These, and those that only peers have reported: that no change of them has come yet is reported too. */
  mentionedOrigins(): readonly string[] {
    const known = this.origins();
    const others = [...this.freshness.origins].filter((origin) => !this.indexes.has(origin));
    return others.length === 0 ? known : [...known, ...others];
  }

  /**
   * This node's watermarks of an origin. The next call for the same origin overwrites the array: copy it to keep it.
   */
  seenOf(origin: string): Watermarks {
    const { engine } = this;
    this.origins();
    const index = this.indexes.get(origin);
    if (index === undefined) return new Float64Array(engine.shardCount);
    const seen = this.watermarks[index];
    for (let shard = 0; shard < seen.length; shard++) seen[shard] = engine.seen(shard, index);
    return seen;
  }

  /** Whether no crash can take back what this node has seen: without a disk it comes back as another origin. */
  get isAllDurable(): boolean {
    return this.durableOfOther === undefined;
  }

  /** Fills `durable` with the watermarks of an origin up to which this node's disk holds its changes. */
  durableOf(origin: string, durable: Watermarks): void {
    this.origins();
    const index = this.indexes.get(origin);
    const { durableOfOther, engine } = this;
    if (index === undefined) return;
    for (let shard = 0; shard < durable.length; shard++)
      durable[shard] = durableOfOther === undefined ? engine.seen(shard, index) : durableOfOther(shard, index);
  }

  /** A peer holds own changes which this node's disk did not give back: see OwnStarts. */
  noteOldCopy(link: Link, proof: OldCopyProof): void {
    const refusal = { code: 'amnesia', message: proof.reason } as const;
    if (!this.ownStarts.isHolding || proof.start.isHeld !== true) {
      link.refuse(refusal);
      return;
    }
    this.oldCopy = refusal;
    this.events.oldCopy?.(link, proof);
    for (const other of [...this.links]) other.refuse(refusal);
  }

  makeStream(origin: number, watermarks: readonly number[]): OutgoingStream {
    const isLimited = origin === OWN_ORIGIN && (this.durable !== undefined || this.ownStarts.isHolding);
    const durable = isLimited ? (shard: number) => this.sendableUpTo(shard) : undefined;
    return new OutgoingStream({ engine: this.engine, parts: this.parts, origin, watermarks, durable });
  }

  /** Own changes of a shard may be sent up to this version. */
  sendableUpTo(shard: number): number {
    return Math.min(this.durable?.(shard) ?? Number.POSITIVE_INFINITY, this.ownStarts.sendableUpTo(shard));
  }

  // ---- time -------------------------------------------------------------------------------------------------------

  /** Does everything that is due; true when there is more to send, so that the next tick should follow soon. */
  tick(): boolean {
    const nowMs = this.clock.monotonicMs();
    this.parts.clear();
    this.ownHistory.note(this.seenOf(this.ownName), nowMs);
    let hasMore = false;
    for (const origin of this.freshness.origins) this.freshness.settle(origin, this.seenOf(origin));
    for (const link of [...this.links]) if (this.tickLink(link, nowMs)) hasMore = true;
    this.measureDelay();
    this.incoming.consider(nowMs);
    this.antiEntropy.tick(nowMs);
    this.unansweredResets.tick(nowMs);
    this.giveUpAbsent(nowMs);
    if (this.oldCopy === undefined) this.ownStarts.consider(this.members.values(), nowMs, this.settings.silenceMs);
    this.acknowledge();
    return hasMore;
  }

  /**
   * The disk is about to write everything that is in the store now. Own changes are encoded here, so that they leave as
   * soon as this flush ends, and not one flush later.
   */
  prepareOwnChanges(): void {
    this.parts.clear();
    for (const link of this.links) link.outgoing(this.ownName)?.prepare();
  }

  /** A defect met while one link is served must not end the others. */
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

  private giveUpAbsent(nowMs: number): void {
    for (const member of this.members.values()) {
      const isAway = member.link === undefined && !member.isGivenUp;
      if (!isAway || nowMs - member.heardAtMs < this.settings.giveUpAfterMs) continue;
      member.isGivenUp = true;
      if (!member.isConfigured) this.members.delete(member.region);
      this.events.givenUp?.(member);
    }
  }

  /** Lets the store collect ended generations that every member has acknowledged. */
  private acknowledge(): void {
    const { engine, holder } = this;
    if (holder === undefined) return;
    const waitedFor = [...this.members.values()].filter(({ isGivenUp }) => !isGivenUp);
    for (const [index, origin] of this.origins().entries()) {
      const durable = waitedFor.map((member) => member.durable.find(origin));
      for (let shard = 0; shard < engine.shardCount; shard++) {
        let lowest = Number.POSITIVE_INFINITY;
        for (const versions of durable) lowest = Math.min(lowest, versions?.[shard] ?? 0);
        if (index !== OWN_ORIGIN) engine.garbageCollection.acknowledgeOther(shard, index, lowest);
        else if (holder.acknowledged(shard) !== lowest) holder.acknowledge(shard, lowest);
      }
    }
  }
}
