import { Applied, Batch } from '@quotadb/engine';
import {
  decodeFrame,
  encodeFrame,
  type Feed,
  type Frame,
  FrameError,
  FrameKind,
  type Hello,
  type Pong,
  type QuotaFrame,
  type Seen,
} from '@quotadb/wire';
import { LinkFigures } from './figures.js';
import { type Acquaintance, findRefusal, type RefusalCode, type RefusalReason } from './handshake.js';
import { compareReplicas, isSameReplica, nameOfOrigin } from './identity.js';
import type { Member } from './member.js';
import type { OutgoingFeed } from './outgoing-feed.js';
import type { Part } from './parts.js';
import { chooseProtocol, protocolFields, protocolRangeOf } from './protocol-versions.js';
import type { Replica } from './replica.js';
import type { Watermarks } from './vectors.js';

/** One stream to one peer, whatever carries it. Frames arrive whole; where they get lost or change places, it heals. */
export interface Carrier {
  /** False while so much is on its way that the rest had better stay in the store. */
  readonly isWritable: boolean;
  send(frame: Uint8Array): void;
  close(): void;
}

/**
 * The conversation with one peer over one stream.
 *
 *   state       | begins with               | then
 *   ------------|---------------------------|-----------------------------------------------------------
 *   greeting    | the stream; own hello out | waits for the other's hello
 *   established | a hello that fits         | feeds, batches, seen, pings, digests, in both directions
 *   closed      | a refusal, silence, or the stream's end | nothing
 */
export class Link {
  readonly acquaintance: Acquaintance;
  readonly figures = new LinkFigures();
  readonly openedAtMs: number;
  establishedAtMs = 0;
  /** The keys that the other had when this began, where this node began with none: what to expect. */
  keysExpected = 0;
  private state: 'greeting' | 'established' | 'closed' = 'greeting';
  private readonly replica: Replica;
  private readonly carrier: Carrier;
  private hello: Hello | undefined = undefined;
  private known: Member | undefined = undefined;
  private readonly feeds = new Map<string, OutgoingFeed>();
  /** What this side has told of its own watermarks, by origin. */
  private readonly reported = new Map<string, Float64Array>();
  /** Of that, what the own disk holds, where there is one. */
  private readonly reportedKept = new Map<string, Float64Array>();
  private readonly kept: Float64Array;
  /** The same as it was when everything was told last. */
  private readonly toldWhole = new Map<string, Float64Array>();
  private readonly batch = new Batch();
  private lastOrigin: Uint8Array | undefined = undefined;
  private lastOriginName = '';
  private heardAtMs: number;
  private pingedAtMs = Number.NEGATIVE_INFINITY;
  private toldAtMs = Number.NEGATIVE_INFINITY;
  /** Of the newest ping that came from the other side. */
  private heardToken = 0;

  constructor(replica: Replica, carrier: Carrier, acquaintance: Acquaintance, nowMs: number) {
    this.replica = replica;
    this.carrier = carrier;
    this.acquaintance = acquaintance;
    this.openedAtMs = nowMs;
    this.heardAtMs = nowMs;
    const { identity, engine } = replica;
    this.kept = new Float64Array(engine.shardCount);
    this.send({
      kind: FrameKind.hello,
      ...protocolFields(replica.protocols),
      cluster: identity.cluster,
      region: identity.region,
      origin: identity.origin,
      shardCount: engine.shardCount,
      agreements: identity.agreements,
      nowMs: replica.clock.wallMs(),
      keys: engine.keyCount(),
    });
  }

  get isEstablished(): boolean {
    return this.state === 'established';
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  /** Of an established link. */
  get origin(): Uint8Array {
    return (this.hello as Hello).origin;
  }

  get member(): Member {
    return this.known as Member;
  }

  /** The version of the protocol that both sides speak on this link; undefined before the other's hello fits. */
  get protocol(): number | undefined {
    return this.hello && chooseProtocol(this.replica.protocols, protocolRangeOf(this.hello));
  }

  get region(): string {
    return this.hello?.region ?? this.acquaintance.expectedRegion ?? this.acquaintance.address;
  }

  get isWritable(): boolean {
    return this.state === 'established' && this.carrier.isWritable;
  }

  /** With TLS relaying is a right in the certificate; without, whoever is let in may. */
  get mayRelay(): boolean {
    return this.acquaintance.certified?.mayRelay ?? true;
  }

  /** Whether of two links between the same replicas this is the one to keep: that of the replica whose id comes first. */
  get isPreferred(): boolean {
    const order = compareReplicas(this.replica.identity.origin, this.origin);
    return this.acquaintance.isDialed ? order < 0 : order > 0;
  }

  // ---- what comes in --------------------------------------------------------------------------------------------------

  /** Returns true where a tick should follow soon; what only says how somebody is can wait. */
  receive(bytes: Uint8Array): boolean {
    if (this.state === 'closed') return false;
    this.figures.framesIn++;
    this.figures.bytesIn += bytes.length;
    this.heardAtMs = this.replica.clock.monotonicMs();
    let frame: Frame;
    try {
      frame = decodeFrame(bytes, this.batch);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.refuse({ code: 'protocol', message: `a frame that cannot be read: ${error.message}` });
      return false;
    }
    if (frame.kind === FrameKind.refusal) this.hearRefusal(frame.code as RefusalCode, frame.message);
    else if (frame.kind === FrameKind.hello) this.greet(frame);
    else if (this.state === 'established') this.hear(frame);
    return !PASSING_FRAMES.has(frame.kind);
  }

  /** The carrier says that the stream is over. */
  closed(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.replica.linkClosed(this);
  }

  /** Ends the stream, and tells the other side why. */
  refuse(reason: RefusalReason): void {
    if (this.state === 'closed') return;
    this.send({ kind: FrameKind.refusal, code: reason.code, message: reason.message });
    this.replica.events.refused?.(this, reason, 'here');
    this.end();
  }

  private hearRefusal(code: RefusalCode, message: string): void {
    this.replica.events.refused?.(this, { code, message }, 'there');
    this.end();
  }

  end(): void {
    this.closed();
    this.carrier.close();
  }

  private greet(hello: Hello): void {
    if (this.state !== 'greeting') return;
    const { identity, protocols, engine } = this.replica;
    this.hello = hello;
    const reason = findRefusal(identity, protocols, engine.shardCount, hello, this.acquaintance);
    if (reason !== undefined) {
      this.refuse(reason);
      return;
    }
    const refusal = this.replica.admit(this, hello);
    if (typeof refusal === 'string') {
      this.refuse({
        code: refusal === 'removed' ? 'removed' : 'duplicate',
        message: refusalWords(refusal, hello.region),
      });
      return;
    }
    this.known = refusal;
    this.state = 'established';
    this.establishedAtMs = this.heardAtMs;
    if (!this.replica.seenOf(nameOfOrigin(hello.origin)).some((version) => version > 0)) this.keysExpected = hello.keys;
    this.tellAll();
    this.replica.linkEstablished(this);
  }

  private hear(frame: Exclude<Frame, { kind: 1 | 2 }>): void {
    if (frame.kind === FrameKind.feed) this.hearFeed(frame);
    else if (frame.kind === FrameKind.batch) this.hearBatch(frame.batch);
    else if (frame.kind === FrameKind.seen) this.hearSeen(frame);
    else if (frame.kind === FrameKind.ping) this.send(this.pongTo(frame.token));
    else if (frame.kind === FrameKind.pong) this.hearPong(frame);
    else if (isQuotaFrame(frame)) this.replica.events.quota?.(this, frame);
    else this.replica.antiEntropy.hear(this, frame);
  }

  private pongTo(token: number): Pong {
    this.heardToken = Math.max(this.heardToken, token);
    return { kind: FrameKind.pong, token, nowMs: this.replica.clock.wallMs() };
  }

  private hearFeed({ origin, isWanted, watermarks }: Feed): void {
    const name = nameOfOrigin(origin);
    const index = this.replica.engine.origins.find(origin);
    this.feeds.delete(name);
    if (!isWanted || index === -1 || watermarks.length !== this.replica.engine.shardCount) return;
    this.feeds.set(name, this.replica.makeFeed(index, watermarks));
  }

  private hearBatch(batch: Batch): void {
    const { replica, figures } = this;
    figures.batchesIn++;
    figures.componentsIn += batch.count;
    if (!this.mayRelay && !isSameReplica(batch.origin, this.origin)) {
      this.refuse({
        code: 'relay',
        message: `${this.region} may send only its own changes: its certificate does not say relay`,
      });
      return;
    }
    const applied = replica.merge.apply(batch);
    const origin = this.nameOfBatch(batch);
    replica.hearPart(origin, this, this.heardAtMs);
    if (applied === Applied.Broken) {
      const about = `${replica.merge.brokenRule} (shard ${batch.shardIndex}, origin ${origin})`;
      this.refuse({ code: 'broken', message: `${this.region} sent what no replica can have said: ${about}` });
    } else if (applied === Applied.Gap) {
      figures.gaps++;
      replica.askAgain(origin, this);
    } else if (applied === Applied.OutOfMemory) {
      figures.outOfMemory++;
      replica.events.outOfMemory?.(this);
    }
  }

  /** A batch keeps its origin from the one before where it is the same. */
  private nameOfBatch({ origin }: Batch): string {
    if (origin !== this.lastOrigin) {
      this.lastOrigin = origin;
      this.lastOriginName = nameOfOrigin(origin);
    }
    return this.lastOriginName;
  }

  private hearSeen({ origin, versions, shards, isWhole, ageMs, afterToken, isKept }: Seen): void {
    const { replica } = this;
    const name = nameOfOrigin(origin);
    const watermarks = this.member.seen.of(name);
    raise(watermarks, shards, versions);
    if (isKept) raise(this.member.kept.of(name), shards, versions);
    if (name === replica.ownName) {
      const lost = replica.findLostState(watermarks);
      if (lost !== undefined) {
        this.refuse({ code: 'amnesia', message: lost });
        return;
      }
      if (isWhole) {
        this.member.ageMs = ageMs;
        this.member.ageToldAtMs = this.heardAtMs;
      }
    } else if (isWhole && ageMs >= 0 && versions.length === watermarks.length) {
      // It was said after that ping had left here. How long this message was under way nobody can know.
      const saidAfterMs = timeOfToken(afterToken);
      if (afterToken !== 0 && saidAfterMs <= this.heardAtMs)
        replica.freshness.hear(name, versions, saidAfterMs - ageMs);
    }
    replica.events.seen?.(this);
  }

  private hearPong({ token, nowMs }: Pong): void {
    const roundTripMs = this.heardAtMs - timeOfToken(token);
    if (roundTripMs < 0) return;
    this.figures.hearRoundTrip(roundTripMs);
    this.figures.skewMs = nowMs - (this.replica.clock.wallMs() - roundTripMs / 2);
    if (Math.abs(this.figures.skewMs) > this.replica.settings.skewBoundMs) this.replica.events.skewed?.(this);
  }

  // ---- what goes out --------------------------------------------------------------------------------------------------

  /** Everything that is due. Returns true when there is more to send than one tick may. */
  tick(nowMs: number): boolean {
    const { settings } = this.replica;
    if (this.state === 'closed') return false;
    if (nowMs - this.heardAtMs >= settings.silenceMs) {
      this.replica.events.silent?.(this);
      this.end();
      return false;
    }
    if (this.state !== 'established') return false;
    const tellsAll = this.isTellDue(nowMs);
    if (tellsAll || nowMs - this.pingedAtMs >= settings.pingIntervalMs) this.ping(nowMs);
    if (tellsAll) this.tellAll();
    else this.tellMoved();
    return this.pump(nowMs);
  }

  /** The stream of an origin's changes to this peer; undefined where the peer has not asked this node for them. */
  outgoing(origin: string): OutgoingFeed | undefined {
    return this.feeds.get(origin);
  }

  /** Sends what feeds have ready; true when more is left than one tick may send. */
  private pump(nowMs: number): boolean {
    const { settings } = this.replica;
    const { lowestRoundTripMs } = this.figures;
    const patienceMs = settings.patienceMs + 2 * Math.min(Math.max(0, lowestRoundTripMs), settings.stallMs);
    let budget = settings.tickBytes;
    for (const [origin, feed] of this.feeds)
      budget -= feed.pump(this, budget, { nowMs, acknowledged: this.member.seen.of(origin), patienceMs });
    return budget <= 0 && this.isWritable;
  }

  sendPart(part: Part): void {
    this.figures.noteBatchOut(part.components);
    this.sendBytes(part.bytes);
  }

  /** A batch that is no part of a walk. */
  sendStray(batch: Batch): void {
    this.figures.componentsResent += batch.count;
    this.send({ kind: FrameKind.batch, batch });
  }

  startFeed(origin: string, watermarks: Watermarks): void {
    this.send({
      kind: FrameKind.feed,
      origin: Buffer.from(origin, 'hex'),
      isWanted: true,
      watermarks: [...watermarks],
    });
  }

  stopFeed(origin: string): void {
    if (this.state !== 'established') return;
    this.send({ kind: FrameKind.feed, origin: Buffer.from(origin, 'hex'), isWanted: false, watermarks: [] });
  }

  /** The watermark up to which a peer was sent an origin's changes; -1 where it is not fed with it from here. */
  sentTo(origin: string, shard: number): number {
    return this.feeds.get(origin)?.sentTo(shard) ?? -1;
  }

  private ping(nowMs: number): void {
    this.pingedAtMs = nowMs;
    this.send({ kind: FrameKind.ping, token: tokenAt(nowMs) });
  }

  /** Whether it is time to say everything: soon after something moved, and now and then also when nothing does. */
  private isTellDue(nowMs: number): boolean {
    const { statusIntervalMs, idleStatusIntervalMs } = this.replica.settings;
    const sinceMs = nowMs - this.toldAtMs;
    if (sinceMs < statusIntervalMs) return false;
    return sinceMs >= idleStatusIntervalMs || this.replica.origins().some((origin) => this.hasMoved(origin));
  }

  private hasMoved(origin: string): boolean {
    const told = this.toldWhole.get(origin);
    const seen = this.replica.seenOf(origin);
    return told === undefined || seen.some((version, shard) => version !== told[shard]);
  }

  /** Where this node has come to with every origin, its own as well. */
  private tellAll(): void {
    this.toldAtMs = this.replica.clock.monotonicMs();
    for (const origin of this.replica.spokenOf()) {
      const seen = Float64Array.from(this.replica.seenOf(origin));
      this.reported.set(origin, seen);
      this.toldWhole.set(origin, Float64Array.from(seen));
      this.sendSeen(origin, true, [...seen.keys()], [...seen], this.replica.keepsAll);
    }
    if (!this.replica.keepsAll) this.tellKept(true);
  }

  /**
   * The same for what came from here and moved since it was told last: this is what acknowledges. What others have sent is no
   * hurry of this peer, and told to it with everything.
   */
  private tellMoved(): void {
    for (const origin of this.replica.origins()) {
      if (!this.replica.isFedBy(origin, this)) continue;
      const seen = this.replica.seenOf(origin);
      let reported = this.reported.get(origin);
      if (reported === undefined) {
        reported = new Float64Array(seen.length);
        this.reported.set(origin, reported);
      }
      const moved: number[] = [];
      for (let shard = 0; shard < seen.length; shard++) if (seen[shard] !== reported[shard]) moved.push(shard);
      if (moved.length === 0) continue;
      reported.set(seen);
      const versions = moved.map((shard) => seen[shard]);
      this.sendSeen(origin, false, moved, versions, this.replica.keepsAll);
    }
    if (!this.replica.keepsAll) this.tellKept(false);
  }

  /** The same for what the own disk holds by now, where that comes later; all of it, or what moved. */
  private tellKept(isAll: boolean): void {
    const { replica, kept } = this;
    for (const origin of replica.origins()) {
      replica.keptOf(origin, kept);
      let reported = this.reportedKept.get(origin);
      if (reported === undefined) {
        reported = new Float64Array(kept.length);
        this.reportedKept.set(origin, reported);
      }
      const moved: number[] = [];
      for (let shard = 0; shard < kept.length; shard++)
        if (kept[shard] !== reported[shard] || (isAll && kept[shard] !== 0)) moved.push(shard);
      if (moved.length === 0) continue;
      reported.set(kept);
      const versions = moved.map((shard) => kept[shard]);
      this.sendSeen(origin, false, moved, versions, true);
    }
  }

  private sendSeen(origin: string, isWhole: boolean, shards: number[], versions: number[], isKept: boolean): void {
    const { replica } = this;
    const ageMs = origin === replica.ownName ? 0 : replica.freshness.ageMs(origin, replica.clock.monotonicMs());
    const afterToken = this.heardToken;
    this.send({
      kind: FrameKind.seen,
      origin: Buffer.from(origin, 'hex'),
      ageMs,
      isWhole,
      shards,
      versions,
      afterToken,
      isKept,
    });
  }

  send(frame: Frame): void {
    this.sendBytes(encodeFrame(frame));
  }

  private sendBytes(bytes: Uint8Array): void {
    this.figures.framesOut++;
    this.figures.bytesOut += bytes.length;
    this.carrier.send(bytes);
  }
}

function isQuotaFrame(frame: Frame): frame is QuotaFrame {
  return frame.kind >= FrameKind.policies;
}

function raise(watermarks: Watermarks, shards: readonly number[], versions: readonly number[]): void {
  for (let index = 0; index < shards.length; index++) {
    const shard = shards[index];
    if (shard < watermarks.length && versions[index] > watermarks[shard]) watermarks[shard] = versions[index];
  }
}

/** A ping says when it was sent, so that nobody has to remember: downwards to a microsecond, so that nothing seems younger. */
function tokenAt(nowMs: number): number {
  return Math.floor(nowMs * 1000);
}

function timeOfToken(token: number): number {
  return token / 1000;
}

const PASSING_FRAMES: ReadonlySet<number> = new Set([
  FrameKind.seen,
  FrameKind.ping,
  FrameKind.pong,
  FrameKind.digests,
]);

function refusalWords(refusal: 'removed' | 'duplicate', region: string): string {
  return refusal === 'removed'
    ? `${region} was removed from the peers here (quotadb peers add)`
    : `there is another link between these two already`;
}
