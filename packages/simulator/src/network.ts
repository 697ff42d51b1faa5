import type { Random } from '@quotadb/engine/testing';
import type { Link, LinkTransport } from '@quotadb/replication';
import type { Scheduler } from './scheduler.js';

/** How the network of one schedule behaves, apart from what its steps do to it. */
export interface NetworkTraits {
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Of all frames, in [0, 1). Streams lose, double and reorder nothing: these are for carriers that do. */
  readonly loss: number;
  readonly duplication: number;
  readonly reordering: number;
  /** Bytes on their way in one direction before a carrier asks to wait. */
  readonly windowBytes: number;
}

/** What the network needs to know of a process at one end. */
export interface Endpoint {
  readonly region: string;
  readonly isRunning: boolean;
  /** A stream to another region; `observe` sees every frame that leaves here. */
  open(carrier: LinkTransport, toRegion: string, isDialed: boolean): Link;
}

export interface NetworkObserver {
  sent(from: Endpoint, to: Endpoint, frame: Uint8Array): void;
  arrived(from: Endpoint, to: Endpoint, frame: Uint8Array): void;
  /** Something that was handed a frame threw. */
  failed(at: Endpoint, error: Error): void;
  said(what: string): void;
}

interface End {
  readonly endpoint: Endpoint;
  link: Link | undefined;
  isOpen: boolean;
  /** Nothing overtakes what was sent before it, in streams. */
  lastArrivalMs: number;
  bytesUnderWay: number;
}

interface Wire {
  readonly name: string;
  readonly ends: readonly [End, End];
  /** What waits for a partition to end, in streams. */
  readonly stalled: (() => void)[];
}

/**
 * Streams between processes. A direction between two regions can be cut: what is sent there waits until it is mended, as
 * TCP would, or is lost where the schedule's carrier loses things. One end of a stream can end without the other hearing
 * of it; who then writes to it is told that nobody is there.
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

  /** One direction; may be cut by several at once. Returns what mends it. */
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

  /** From now on everything gets through, in order. */
  heal(): void {
    this.cuts.clear();
    this.traits = { ...this.traits, loss: 0, duplication: 0, reordering: 0 };
    this.resume();
  }

  /** Whether a stream could be opened. */
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
        end.link = end.endpoint.open(this.carrier(wire, side), other.endpoint.region, side === 0);
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

  /** A process is gone. Where its system still runs, the others hear of it; otherwise they have to find out. */
  drop(endpoint: Endpoint, isHeard: boolean): void {
    for (const wire of [...this.wires]) {
      const side = wire.ends.findIndex((end) => end.endpoint === endpoint);
      if (side === -1) continue;
      wire.ends[side].isOpen = false;
      if (isHeard) this.tellEnd(wire, (1 - side) as 0 | 1);
    }
  }

  private end(endpoint: Endpoint): End {
    return { endpoint, link: undefined, isOpen: true, lastArrivalMs: 0, bytesUnderWay: 0 };
  }

  private delay(): number {
    return this.traits.delayMs + this.random.next() * this.traits.jitterMs;
  }

  private carrier(wire: Wire, side: 0 | 1): LinkTransport {
    const network = this;
    const end = wire.ends[side];
    return {
      get isWritable() {
        return end.bytesUnderWay < network.traits.windowBytes;
      },
      send: (frame) => this.send(wire, side, frame),
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
      this.tellEnd(wire, side);
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

  /** This end is over; the other will hear of it when the way is free. */
  private endAt(wire: Wire, side: 0 | 1): void {
    const end = wire.ends[side];
    if (!end.isOpen) return;
    end.isOpen = false;
    if (end.endpoint.isRunning) this.guard(end.endpoint, () => end.link?.closed());
    this.tellEnd(wire, (1 - side) as 0 | 1);
  }

  /** Tells one end that the other is gone, unless that is lost. */
  private tellEnd(wire: Wire, side: 0 | 1): void {
    if (!wire.ends[0].isOpen && !wire.ends[1].isOpen) this.wires.delete(wire);
    if (!wire.ends[side].isOpen) return;
    const other = wire.ends[1 - side];
    const tell = () => {
      if (this.isCut(other.endpoint.region, wire.ends[side].endpoint.region)) {
        if (this.traits.loss === 0) wire.stalled.push(tell);
        return;
      }
      this.endAt(wire, side);
    };
    // What was sent before the end arrives before it.
    const delayMs = Math.max(this.delay(), other.lastArrivalMs - this.scheduler.nowMs);
    this.scheduler.after(delayMs, tell);
  }

  private resume(): void {
    for (const wire of this.wires) for (const go of wire.stalled.splice(0)) go();
  }
}
