import type { PeerStream } from '../grpc/peer-stream.js';
import type { Link } from '../link.js';
import type { Replica } from '../replica.js';
import type { ReplicaEvents } from '../replica-options.js';
import { covers } from '../watermarks.js';
import { Dialer } from './dialer.js';
import type { GrpcNetwork, MeshPeer } from './grpc-network.js';
import { Pacemaker } from './pacemaker.js';

export interface MeshEvents extends ReplicaEvents {
  /** The replica was made; from now on it ticks. */
  began(replica: Replica): void;
  ticked(): void;
  /** A region could not be reached. */
  dialFailed(peer: MeshPeer, error: Error): void;
  /** A connection was refused before it had opened a stream. */
  turnedAway(code: string, message: string, address: string): void;
  /** A defect in the program. The link that met it is closed; undefined where all links are. */
  fault(link: Link | undefined, error: unknown): void;
}

/** Short: at the end of the process replication need not spare the processor. */
const DRAIN_BEAT_MS = 2;

export interface MeshOptions {
  readonly network: GrpcNetwork;
  /** Called once, at the first peer: until then replication costs nothing. */
  readonly makeReplica: (events: Partial<ReplicaEvents>) => Promise<Replica>;
  readonly intervalMs: number;
  /** Replies wait for acknowledgements (--replicate-before-reply). */
  readonly isUrgent?: boolean;
  readonly random: () => number;
  readonly events?: Partial<MeshEvents>;
}

/**
 * Connects a replica to a real network: its listener, its dialers, its pacemaker. A fault with one peer ends the link
 * to that peer and nothing else.
 */
export class Mesh {
  /** Undefined before the first peer. */
  replica: Replica | undefined = undefined;
  private readonly options: MeshOptions;
  private readonly events: Partial<MeshEvents>;
  private readonly dialers = new Map<string, Dialer>();
  private beginning: Promise<Replica> | undefined = undefined;
  private pacemaker: Pacemaker | undefined = undefined;
  private isStopped = false;

  constructor(options: MeshOptions) {
    this.options = options;
    this.events = options.events ?? {};
  }

  listen(): Promise<number> {
    return this.options.network.listen({
      stream: (stream) => void this.accept(stream),
      refused: (code, message, address) => this.events.turnedAway?.(code, message, address),
    });
  }

  /** Makes the replica, where there is none yet. */
  begin(): Promise<Replica> {
    this.beginning ??= this.makeReplica();
    return this.beginning;
  }

  get peers(): readonly Dialer[] {
    return [...this.dialers.values()];
  }

  get links(): ReadonlySet<Link> {
    return this.replica?.links ?? new Set();
  }

  /** From now on this region is dialed, and garbage collection waits for it. Replaces a peer of the same region. */
  async addPeer(peer: MeshPeer): Promise<void> {
    const replica = await this.begin();
    if (this.isStopped) return;
    this.dialers.get(peer.region)?.stop();
    replica.addMember(peer.region);
    const dialer = new Dialer({
      peer,
      dial: (to, handlers) => this.options.network.dial(to, handlers),
      isConnected: () => replica.isConnected(peer.region),
      opened: (stream) => this.open(replica, stream, dialer),
      failed: (to, error) => this.events.dialFailed?.(to, error),
      random: this.options.random,
    });
    this.dialers.set(peer.region, dialer);
    dialer.start();
  }

  /** The region is not dialed and not waited for any more, and its links are refused. False where it was no member. */
  async removePeer(region: string): Promise<boolean> {
    const replica = await this.begin();
    const dialer = this.dialers.get(region);
    this.dialers.delete(region);
    dialer?.stop();
    return replica.removeMember(region) || dialer !== undefined;
  }

  /** Encodes the changes that the disk is about to write, so that they leave as soon as it has; see FlushListener. */
  beforeFlush(): void {
    const { replica } = this;
    if (replica !== undefined) this.guard(() => replica.prepareOwnChanges());
  }

  afterFlush(): void {
    this.pacemaker?.tickSoon();
  }

  /** Called when no client is served any more: resolves when every connected peer has all changes, or in time. */
  async drain(withinMs: number): Promise<void> {
    const { replica } = this;
    if (replica === undefined) return;
    const own = Float64Array.from(replica.seenOf(replica.ownName));
    const untilMs = replica.clock.monotonicMs() + withinMs;
    const hasAll = (link: Link) => covers(link.member.seen.of(replica.ownName), own);
    while (replica.clock.monotonicMs() < untilMs) {
      this.pacemaker?.tick();
      if ([...replica.links].every((link) => !link.isEstablished || hasAll(link))) return;
      await new Promise((resolve) => setTimeout(resolve, DRAIN_BEAT_MS));
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const dialer of this.dialers.values()) dialer.stop();
    this.pacemaker?.stop();
    await this.beginning?.catch(() => {});
    this.endLinks();
    await this.options.network.close();
  }

  private async makeReplica(): Promise<Replica> {
    const { makeReplica, intervalMs, isUrgent = false } = this.options;
    const replica = await makeReplica({
      ...this.events,
      established: (link) => {
        this.dialers.get(link.region)?.reconsider();
        this.events.established?.(link);
      },
      closed: (link) => {
        const lastedMs = link.establishedAtMs === 0 ? 0 : replica.clock.monotonicMs() - link.establishedAtMs;
        this.dialers.get(link.region)?.disconnected(lastedMs);
        this.events.closed?.(link);
      },
      fault: (link, error) => this.events.fault?.(link, error),
    });
    this.replica = replica;
    this.pacemaker = new Pacemaker({
      engine: replica.engine,
      intervalMs,
      isUrgent,
      monotonicMs: () => replica.clock.monotonicMs(),
      still: (nowMs) => replica.ownHistory.noteStill(nowMs),
      tick: () => this.tick(replica),
    });
    if (!this.isStopped) this.pacemaker.start();
    this.events.began?.(replica);
    return replica;
  }

  private tick(replica: Replica): boolean {
    let hasMore = false;
    this.guard(() => {
      replica.engine.advanceTo(replica.clock.nowMs());
      hasMore = replica.tick();
      this.events.ticked?.();
    });
    return hasMore;
  }

  private async accept(stream: PeerStream): Promise<void> {
    // Frames that come before the replica is made must not get lost.
    const early: Uint8Array[] = [];
    let isOver = false;
    stream.onFrame = (frame) => early.push(frame);
    stream.onClose = () => {
      isOver = true;
    };
    try {
      const replica = await this.begin();
      if (isOver) return;
      if (this.isStopped) {
        stream.close();
        return;
      }
      this.open(replica, stream, undefined);
      for (const frame of early) stream.onFrame(frame);
    } catch (error) {
      this.events.fault?.(undefined, error);
      stream.close();
    }
  }

  private open(replica: Replica, stream: PeerStream, dialer: Dialer | undefined): void {
    const link = replica.open(stream, {
      isDialed: stream.isDialed,
      address: stream.remoteAddress,
      ...(dialer !== undefined && { expectedRegion: dialer.peer.region }),
      ...(stream.certified !== undefined && { certified: stream.certified }),
    });
    stream.onDrain = () => this.pacemaker?.hurry();
    stream.onClose = () => {
      link.closed();
      dialer?.streamEnded(stream);
    };
    stream.onFrame = (frame) => {
      try {
        if (link.receive(frame)) this.pacemaker?.stir();
      } catch (error) {
        replica.engine.releaseLocks();
        this.events.fault?.(link, error);
        link.end();
      }
    };
  }

  /** A defect that concerns no single peer: all links are closed and dialed again. */
  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.replica?.engine.releaseLocks();
      this.events.fault?.(undefined, error);
      this.endLinks();
    }
  }

  private endLinks(): void {
    for (const link of [...this.links]) link.end();
  }
}
