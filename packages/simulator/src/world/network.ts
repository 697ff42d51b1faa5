import type { Random } from '@quotadb/engine/testing';
import type { Link, LinkTransport } from '@quotadb/replication';
import type { Scheduler } from './scheduler.js';

/** How the network of one schedule behaves, apart from its faults. */
export interface NetworkTraits {
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Of all frames, in [0, 1). A TCP stream loses, doubles and reorders nothing: these are for transports that do. */
  readonly loss: number;
  readonly duplication: number;
  readonly reordering: number;
  /** Bytes under way in one direction before a transport asks its sender to wait. */
  readonly windowBytes: number;
}

/** A process at one end of a stream. */
export interface Endpoint {
  readonly region: string;
  readonly isRunning: boolean;
  open(transport: LinkTransport, to: Endpoint, isDialed: boolean): Link;
}

export interface NetworkObserver {
  sent(from: Endpoint, to: Endpoint, frame: Uint8Array): void;
  arrived(from: Endpoint, to: Endpoint, frame: Uint8Array): void;
  /** A process threw when it received a frame or the end of a stream. */
  failed(at: Endpoint, error: Error): void;
  said(what: string): void;
}

interface End {
  readonly endpoint: Endpoint;
  link: Link | undefined;
  isOpen: boolean;
  /** A frame of a stream never arrives before this. */
  lastArrivalMs: number;
  bytesUnderWay: number;
}

interface Wire {
  readonly name: string;
  readonly ends: readonly [End, End];
  /** Arrivals that wait for a partition to end. */
  readonly stalled: (() => void)[];
}

/**
 * Streams between processes. A direction between two regions can be cut: its frames wait until it is mended, as in TCP,
 * or are lost where the schedule's transport loses frames. One end of a stream can close unnoticed by the other, which
 * then gets an error when it writes.
 */
export class Network {
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  private readonly observer: NetworkObserver;
  private traits: NetworkTraits;
  private readonly cuts = new Map<string, number>();
  private readonly wires = new Set<Wire>();
  private wiresTotal = 0;

  constructor(scheduler: Scheduler, random: Random, traits: NetworkTraits, observer: NetworkObserver) {
    this.scheduler = scheduler;
    this.random = random;
    this.traits = traits;
    this.observer = observer;
  }

  isCut(from: string, to: string): boolean {
    return (this.cuts.get(`${from}>${to}`) ?? 0) > 0;
  }

  /** Cuts one direction, which may be cut several times at once. Returns a function that mends it. */
  cut(from: string, to: string): () => void {
    const name = `${from}>${to}`;
    this.cuts.set(name, (this.cuts.get(name) ?? 0) + 1);
    let isMended = false;
    return () => {
      if (isMended) return;
      isMended = true;
      this.cuts.set(name, Math.max(0, (this.cuts.get(name) ?? 0) - 1));
      this.resume();
    };
  }

  /** From now on every frame arrives, in order. */
  heal(): void {
    this.cuts.clear();
    this.traits = { ...this.traits, loss: 0, duplication: 0, reordering: 0 };
    this.resume();
  }

  /** Opens a stream, unless an end or a direction is down by then. */
  dial(from: Endpoint, to: Endpoint): void {
    this.scheduler.after(this.delay() * 2, () => {
      if (!from.isRunning || !to.isRunning) return;
      if (this.isCut(from.region, to.region) || this.isCut(to.region, from.region)) return;
      const name = `${from.region}-${to.region}#${++this.wiresTotal}`;
      const wire: Wire = { name, ends: [this.end(from), this.end(to)], stalled: [] };
      this.wires.add(wire);
      this.observer.said(`${name} is open`);
      for (const side of [0, 1] as const) {
        const end = wire.ends[side];
        const other = wire.ends[1 - side];
        end.link = end.endpoint.open(this.transport(wire, side), other.endpoint, side === 0);
      }
    });
  }

  /** Ends one stream between two regions, or only one end of it. */
  breakOne(random: Random, isHalf: boolean): void {
    const wires = [...this.wires];
    if (wires.length === 0) return;
    const wire = random.pick(wires);
    const side = random.below(2) as 0 | 1;
    this.observer.said(`${wire.name} breaks${isHalf ? ` at ${wire.ends[side].endpoint.region} only` : ''}`);
    this.endAt(wire, side);
    if (!isHalf) this.scheduler.after(this.delay() * random.below(5), () => this.endAt(wire, (1 - side) as 0 | 1));
  }

  /** All streams end, at both ends. */
  breakAll(): void {
    for (const wire of [...this.wires]) for (const side of [0, 1] as const) this.endAt(wire, side);
  }

  /** A process is gone. Its peers are notified if its system still runs; otherwise they have to find out. */
  drop(endpoint: Endpoint, isHeard: boolean): void {
    for (const wire of [...this.wires]) {
      const side = wire.ends.findIndex((end) => end.endpoint === endpoint);
      if (side === -1) continue;
      wire.ends[side].isOpen = false;
      if (isHeard) this.notifyEnd(wire, (1 - side) as 0 | 1);
    }
  }

  private end(endpoint: Endpoint): End {
    return { endpoint, link: undefined, isOpen: true, lastArrivalMs: 0, bytesUnderWay: 0 };
  }

  private delay(): number {
    return this.traits.delayMs + this.random.next() * this.traits.jitterMs;
  }

  private transport(wire: Wire, side: 0 | 1): LinkTransport {
    const network = this;
    const end = wire.ends[side];
    return {
      get isWritable() {
        return end.bytesUnderWay < network.traits.windowBytes;
      },
      send: (frame) => this.send(wire, side, frame.slice()),
      close: () => this.endAt(wire, side),
    };
  }

  private send(wire: Wire, side: 0 | 1, frame: Uint8Array): void {
    const end = wire.ends[side];
    const other = wire.ends[1 - side];
    if (!end.isOpen) return;
    this.observer.sent(end.endpoint, other.endpoint, frame);
    const { loss, duplication, reordering } = this.traits;
    if (loss > 0 && this.random.chance(loss)) return;
    this.carry(wire, side, frame, reordering > 0 && this.random.chance(reordering));
    if (duplication > 0 && this.random.chance(duplication)) this.carry(wire, side, frame, true);
  }

  private carry(wire: Wire, side: 0 | 1, frame: Uint8Array, isOutOfTurn: boolean): void {
    const end = wire.ends[side];
    const { nowMs } = this.scheduler;
    let arrivesAtMs = nowMs + this.delay() * (isOutOfTurn ? 1 + this.random.next() * 20 : 1);
    if (!isOutOfTurn) {
      arrivesAtMs = Math.max(arrivesAtMs, end.lastArrivalMs);
      end.lastArrivalMs = arrivesAtMs;
    }
    end.bytesUnderWay += frame.length;
    this.scheduler.after(arrivesAtMs - nowMs, () => this.arrive(wire, side, frame));
  }

  private arrive(wire: Wire, side: 0 | 1, frame: Uint8Array): void {
    const end = wire.ends[side];
    const other = wire.ends[1 - side];
    if (this.isCut(end.endpoint.region, other.endpoint.region)) {
      if (this.traits.loss > 0) end.bytesUnderWay -= frame.length;
      else wire.stalled.push(() => this.arrive(wire, side, frame));
      return;
    }
    end.bytesUnderWay -= frame.length;
    if (!other.isOpen || !other.endpoint.isRunning) {
      this.notifyEnd(wire, side);
      return;
    }
    this.observer.arrived(end.endpoint, other.endpoint, frame);
    this.guard(other.endpoint, () => other.link?.receive(frame));
  }

  private guard(endpoint: Endpoint, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.observer.failed(endpoint, error as Error);
    }
  }

  /** Closes one end; the other is notified when the direction to it is open. */
  private endAt(wire: Wire, side: 0 | 1): void {
    const end = wire.ends[side];
    if (!end.isOpen) return;
    end.isOpen = false;
    if (end.endpoint.isRunning) this.guard(end.endpoint, () => end.link?.closed());
    this.notifyEnd(wire, (1 - side) as 0 | 1);
  }

  /** Notifies one end that the other is closed, unless the notification is lost. */
  private notifyEnd(wire: Wire, side: 0 | 1): void {
    if (!wire.ends[0].isOpen && !wire.ends[1].isOpen) this.wires.delete(wire);
    if (!wire.ends[side].isOpen) return;
    const other = wire.ends[1 - side];
    const notify = () => {
      if (this.isCut(other.endpoint.region, wire.ends[side].endpoint.region)) {
        if (this.traits.loss === 0) wire.stalled.push(notify);
        return;
      }
      this.endAt(wire, side);
    };
    // Frames that were sent before the end arrive before it.
    const delayMs = Math.max(this.delay(), other.lastArrivalMs - this.scheduler.nowMs);
    this.scheduler.after(delayMs, notify);
  }

  private resume(): void {
    for (const wire of this.wires) for (const go of wire.stalled.splice(0)) go();
  }
}
