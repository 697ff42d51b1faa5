import { Applied, Batch, Verdict } from '@quotadb/engine';
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
} from '@quotadb/wire';
import { LinkFigures } from './figures.js';
import { type Acquaintance, findRefusal, type RefusalCode, type RefusalReason } from './handshake.js';
import { compareReplicas, isSameReplica, nameOfOrigin } from './identity.js';
import type { Member } from './member.js';
import type { OutgoingStream } from './outgoing-stream.js';
import type { Part } from './parts.js';
import { Pings, timeOfToken } from './pings.js';
import type { HeardProcess } from './processes.js';
import { chooseProtocol, protocolFields, protocolRangeOf } from './protocol-versions.js';
import { receiveSeen } from './receive-seen.js';
import type { Replica } from './replica.js';
import { findTwinOf } from './twins.js';
import { WatermarkReporter } from './watermark-reporter.js';
import type { Watermarks } from './watermarks.js';

/** Carries frames to one peer. Frames arrive whole; the link recovers from lost ones and from a changed order. */
export interface LinkTransport {
  /** False while too many bytes wait to be sent: further changes wait in the store instead. */
  readonly isWritable: boolean;
  /** The frame is copied: its bytes are written over soon. */
  send(frame: Uint8Array): void;
  close(): void;
}

/**
 * The conversation with one peer replica.
 *
 *   state       | begins with               | then
 *   ------------|---------------------------|-----------------------------------------------------------
 *   greeting    | the transport; own hello  | waits for the peer's hello
 *   established | a hello that fits         | streams, batches, seen, pings, digests, in both directions
 *   closed      | a refusal, silence, or the end of the transport | nothing
 */
export class Link {
  readonly acquaintance: Acquaintance;
  readonly figures = new LinkFigures();
  readonly pings = new Pings(this.figures);
  readonly openedAtMs: number;
  establishedAtMs = 0;
  /** When the last frame came. */
  heardAtMs: number;
  /** How many keys the peer had at its hello, where this node had none of them: the size of the first copy. */
  keysExpected = 0;
  /** Another process under the peer's name, and when a report of it came: see findTwinOf. */
  rival: HeardProcess | undefined = undefined;
  private state: 'greeting' | 'established' | 'closed' = 'greeting';
  private readonly replica: Replica;
  private readonly transport: LinkTransport;
  private readonly reporter: WatermarkReporter;
  private hello: Hello | undefined = undefined;
  private known: Member | undefined = undefined;
  /** By origin: the streams that the peer has asked for. */
  private readonly streams = new Map<string, OutgoingStream>();
  private readonly batch = new Batch();
  private lastOrigin: Uint8Array | undefined = undefined;
  private lastOriginName = '';

  constructor(replica: Replica, transport: LinkTransport, acquaintance: Acquaintance, nowMs: number) {
    this.replica = replica;
    this.transport = transport;
    this.acquaintance = acquaintance;
    this.openedAtMs = nowMs;
    this.heardAtMs = nowMs;
    this.reporter = new WatermarkReporter(replica, this);
    const { identity, engine } = replica;
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
      boot: replica.boot,
    });
  }

  /** Whether a hello is of the process that this established link is with. */
  isOfSameProcess({ boot, origin }: Hello): boolean {
    const own = this.hello as Hello;
    if (boot !== 0 && own.boot !== 0) return boot === own.boot;
    return nameOfOrigin(origin) === nameOfOrigin(own.origin);
  }

  /** Of the process at the other end of an established link; 0 where its release has none. */
  get boot(): number {
    return (this.hello as Hello).boot;
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
    return this.state === 'established' && this.transport.isWritable;
  }

  /** With TLS relaying is a right in the certificate; without, every peer has it. */
  get mayRelay(): boolean {
    return this.acquaintance.certified?.mayRelay ?? true;
  }

  /** Of two links between the same replicas the one is kept that the replica with the lower id has dialed. */
  get isPreferred(): boolean {
    const order = compareReplicas(this.replica.identity.origin, this.origin);
    return this.acquaintance.isDialed ? order < 0 : order > 0;
  }

  // ---- frames from the peer ---------------------------------------------------------------------------------------

  /** Returns true where a tick should follow soon. Reports, pings and digests can wait for the next one. */
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
    if (frame.kind === FrameKind.refusal) {
      this.replica.noteRefusal(this, { code: frame.code as RefusalCode, message: frame.message });
      this.end();
    } else if (frame.kind === FrameKind.hello) this.receiveHello(frame);
    else if (this.state === 'established') this.dispatch(frame);
    return !UNHURRIED_FRAMES.has(frame.kind);
  }

  /** Called when the transport has closed. */
  closed(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.replica.linkClosed(this);
  }

  /** Sends the reason to the peer and ends the link. */
  refuse(reason: RefusalReason): void {
    if (this.state === 'closed') return;
    this.send({ kind: FrameKind.refusal, code: reason.code, message: reason.message });
    this.replica.events.refused?.(this, reason, 'here');
    this.end();
  }

  end(): void {
    this.closed();
    this.transport.close();
  }

  private receiveHello(hello: Hello): void {
    if (this.state !== 'greeting') return;
    this.hello = hello;
    const reason = findRefusal(this.replica, hello, this.acquaintance);
    if (reason !== undefined) {
      this.refuse(reason);
      return;
    }
    const admitted = this.replica.admit(this, hello);
    if ('code' in admitted) {
      this.refuse(admitted);
      return;
    }
    this.known = admitted;
    this.state = 'established';
    this.establishedAtMs = this.heardAtMs;
    if (!this.replica.seenOf(nameOfOrigin(hello.origin)).some((version) => version > 0)) this.keysExpected = hello.keys;
    this.reporter.reportWhole();
    this.replica.linkEstablished(this);
  }

  private dispatch(frame: Exclude<Frame, { kind: 1 | 2 }>): void {
    if (frame.kind === FrameKind.feed) this.receiveStreamRequest(frame);
    else if (frame.kind === FrameKind.batch) this.receiveBatch(frame.batch);
    else if (frame.kind === FrameKind.seen) receiveSeen(this.replica, this, frame);
    else if (frame.kind === FrameKind.ping) this.answerPing(frame.token);
    else if (frame.kind === FrameKind.pong) this.receivePong(frame);
    else if (isQuotaFrame(frame)) this.replica.events.quota?.(this, frame);
    else this.replica.antiEntropy.receive(this, frame);
  }

  private answerPing(token: number): void {
    this.reporter.noteToken(token);
    this.send({ kind: FrameKind.pong, token, nowMs: this.replica.clock.wallMs() });
  }

  private receiveStreamRequest({ origin, isWanted, watermarks }: Feed): void {
    const name = nameOfOrigin(origin);
    const index = this.replica.engine.origins.find(origin);
    this.streams.delete(name);
    if (!isWanted || index === -1 || watermarks.length !== this.replica.engine.shardCount) return;
    this.streams.set(name, this.replica.makeStream(index, watermarks));
  }

  private receiveBatch(batch: Batch): void {
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
    if (applied === Applied.Ahead || applied === Applied.OriginRefused) {
      replica.incoming.pause(origin, this, this.heardAtMs);
      if (applied === Applied.Ahead) this.noteAhead(replica.merge.tooFarAhead);
      else replica.events.originRefused?.(this, replica.engine.origins.refusal);
      return;
    }
    replica.incoming.noteArrival(origin, this, this.heardAtMs);
    if (applied === Applied.Broken) {
      const about = `${replica.merge.brokenRule} (shard ${batch.shardIndex}, origin ${origin})`;
      this.refuse({ code: 'broken', message: `${this.region} sent what no replica can have said: ${about}` });
    } else if (applied === Applied.Gap) {
      figures.gaps++;
      replica.incoming.requestAgain(origin, this, replica.clock.monotonicMs());
    } else if (applied === Applied.OutOfMemory) {
      figures.outOfMemory++;
      replica.events.outOfMemory?.(this);
    }
  }

  /** A frame was not applied: its clock, or a clock before it, is ahead. Its changes are admitted when they are not. */
  private noteAhead(what: string): void {
    this.figures.framesAhead++;
    this.replica.events.ahead?.(this, what);
  }

  /** Whether watermarks may be used; otherwise that is noted. */
  admits(versions: readonly number[]): boolean {
    const gate = this.replica.merge.openGate();
    for (const version of versions) {
      if (gate.ofVersion('watermark', version) === Verdict.Admitted) continue;
      this.noteAhead(gate.describe(undefined));
      return false;
    }
    return true;
  }

  /** Whether the peer may report about an origin: a new one only of its own, unless it may relay. */
  mayName(origin: Uint8Array): boolean {
    if (this.mayRelay || isSameReplica(origin, this.origin)) return true;
    return this.replica.engine.origins.find(origin) !== -1;
  }

  /** Decoding keeps the origin of the batch before where it is the same: then its name is known. */
  private nameOfBatch({ origin }: Batch): string {
    if (origin !== this.lastOrigin) {
      this.lastOrigin = origin;
      this.lastOriginName = nameOfOrigin(origin);
    }
    return this.lastOriginName;
  }

  private receivePong(pong: Pong): void {
    const { clock, settings, events } = this.replica;
    const isOurs = this.pings.receive(pong, this.heardAtMs, clock.wallMs());
    const isAfterRival = isOurs && this.rival !== undefined && timeOfToken(pong.token) > this.rival.atMs;
    const twin = isAfterRival ? findTwinOf(this.replica, this) : undefined;
    if (twin !== undefined) this.refuse({ code: 'twin', message: twin });
    else if (isOurs && Math.abs(this.figures.skewMs) > settings.skewBoundMs) events.skewed?.(this);
  }

  // ---- frames to the peer -----------------------------------------------------------------------------------------

  /** Sends everything that is due. Returns true when there is more to send than one tick may. */
  tick(nowMs: number): boolean {
    const { settings } = this.replica;
    if (this.state === 'closed') return false;
    if (nowMs - this.heardAtMs >= settings.silenceMs) {
      this.replica.events.silent?.(this);
      this.end();
      return false;
    }
    if (this.state !== 'established') return false;
    const isWholeDue = this.reporter.isWholeDue(nowMs);
    if (isWholeDue || this.pings.isDue(nowMs, settings.pingIntervalMs))
      this.send({ kind: FrameKind.ping, token: this.pings.begin(nowMs) });
    if (isWholeDue) this.reporter.reportWhole();
    else this.reporter.reportMoved();
    return this.pump(nowMs);
  }

  /** The stream of an origin's changes to this peer; undefined where the peer has not asked this node for them. */
  outgoing(origin: string): OutgoingStream | undefined {
    return this.streams.get(origin);
  }

  /** Sends what the streams have ready; true when more is left than one tick may send. */
  private pump(nowMs: number): boolean {
    const { settings } = this.replica;
    const { lowestRoundTripMs } = this.figures;
    const patienceMs = settings.patienceMs + 2 * Math.min(Math.max(0, lowestRoundTripMs), settings.stallMs);
    let budget = settings.tickBytes;
    for (const [origin, stream] of this.streams) if (stream.isOver) this.streams.delete(origin);
    for (const [origin, stream] of this.streams)
      budget -= stream.pump(this, budget, { nowMs, acknowledged: this.member.seen.of(origin), patienceMs });
    return budget <= 0 && this.isWritable;
  }

  sendPart(part: Part): void {
    this.figures.noteBatchOut(part.components);
    this.sendBytes(part.bytes);
  }

  /** Sends a batch that is no part of a stream: anti-entropy repairs with it. */
  sendRepair(batch: Batch): void {
    this.figures.componentsResent += batch.count;
    this.send({ kind: FrameKind.batch, batch });
  }

  /** Asks the peer for an origin's changes from these watermarks on. */
  requestStream(origin: string, watermarks: Watermarks): void {
    const id = Buffer.from(origin, 'hex');
    this.send({ kind: FrameKind.feed, origin: id, isWanted: true, watermarks: [...watermarks] });
  }

  cancelStream(origin: string): void {
    if (this.state !== 'established') return;
    this.send({ kind: FrameKind.feed, origin: Buffer.from(origin, 'hex'), isWanted: false, watermarks: [] });
  }

  send(frame: Frame): void {
    this.sendBytes(encodeFrame(frame));
  }

  private sendBytes(bytes: Uint8Array): void {
    this.figures.framesOut++;
    this.figures.bytesOut += bytes.length;
    this.transport.send(bytes);
  }
}

function isQuotaFrame(frame: Frame): frame is QuotaFrame {
  return frame.kind >= FrameKind.policies;
}

const UNHURRIED_FRAMES: ReadonlySet<number> = new Set([
  FrameKind.seen,
  FrameKind.ping,
  FrameKind.pong,
  FrameKind.digests,
]);
