import { Acknowledgements, Batch, ByteInput, Engine, joinInt64, splitInt64 } from '@quotadb/engine';
import { decodeFrame, FrameKind } from '@quotadb/wire';
import { replicaIdOf } from '../identity.js';
import type { Link, LinkTransport } from '../link.js';
import type { Start } from '../own-starts.js';
import type { ProtocolRange } from '../protocol-versions.js';
import { Replica } from '../replica.js';
import type { ReplicaEvents } from '../replica-options.js';
import type { ReplicationSettings } from '../settings.js';

export interface TestClusterOptions {
  readonly durable?: Readonly<Record<string, (shard: number) => number>>;
  readonly settings?: Partial<ReplicationSettings>;
  readonly shardCount?: number;
  readonly protocols?: Readonly<Record<string, ProtocolRange>>;
  readonly events?: Partial<ReplicaEvents>;
  /** By region, for replicas with a disk: the starts of the incarnation, for a store as it is at the present one. */
  readonly starts?: Readonly<Record<string, (engine: Engine) => readonly Start[]>>;
  readonly release?: () => boolean;
  /** Every region has a certificate, and these may relay. By default there are none, and all may. */
  readonly relays?: readonly string[];
}

interface Wire {
  readonly ends: readonly [string, string];
  readonly links: Link[];
  readonly queues: [Uint8Array[], Uint8Array[]];
  isFrozen: boolean;
}

const START_MS = Date.UTC(2026, 5, 1);
const TICK_MS = 10;

/** Replicas in one process, with wires that pass frames in order when a test asks for it. */
export class TestCluster {
  nowMs = START_MS;
  private readonly replicas = new Map<string, Replica>();
  private readonly options: TestClusterOptions;
  private wires: Wire[] = [];
  private boots = 0;

  constructor(regions: readonly string[], options: TestClusterOptions = {}) {
    this.options = options;
    for (const [index, region] of regions.entries()) this.make(region, index);
  }

  node(region: string): Replica {
    return this.replicas.get(region) as Replica;
  }

  /**
   * A replica with an empty store; in the place of one of the same name, a new incarnation. Another `name` than its
   * region is for a second server that calls itself the same.
   */
  make(region: string, incarnation: number, name = region): Replica {
    const origin = new Uint8Array(32);
    origin.set(replicaIdOf('test', region));
    new DataView(origin.buffer).setUint32(28, incarnation + 1);
    const engine = Engine.format({
      maxMemoryBytes: 8 * 1024 * 1024,
      origin,
      nowMs: this.nowMs,
      shardCount: this.options.shardCount ?? 64,
    });
    const durable = this.options.durable?.[region];
    const starts = this.options.starts?.[region];
    const protocols = this.options.protocols?.[region];
    const replica = new Replica({
      engine,
      identity: { cluster: 'test', region, origin, agreements: [] },
      clock: { monotonicMs: () => this.nowMs, wallMs: () => this.nowMs, nowMs: () => this.nowMs },
      acknowledgements: new Acknowledgements(engine),
      boot: ++this.boots,
      ...(durable && { durable }),
      ...(starts && { starts: starts(engine) }),
      ...(this.options.release && { release: this.options.release }),
      ...(protocols && { protocols }),
      ...(this.options.settings && { settings: this.options.settings }),
      ...(this.options.events && { events: this.options.events }),
    });
    this.replicas.set(name, replica);
    return replica;
  }

  connectAll(): void {
    const regions = [...this.replicas.keys()];
    for (const [index, one] of regions.entries())
      for (const other of regions.slice(index + 1)) this.connect(one, other);
  }

  /** The first dials the second. */
  connect(one: string, other: string): Wire {
    const wire: Wire = { ends: [one, other], links: [], queues: [[], []], isFrozen: false };
    for (const side of [0, 1] as const) {
      const transport: LinkTransport = {
        isWritable: true,
        send: (frame) => wire.queues[side].push(frame.slice()),
        close: () => {
          // What was sent before, the reason of a refusal above all, still arrives.
          const sent = wire.queues[side].splice(0);
          for (const frame of sent) wire.links[1 - side].receive(frame);
          this.cut(wire);
        },
      };
      const address = wire.ends[1 - side];
      const mayRelay = this.options.relays?.includes(address);
      const certified = mayRelay === undefined ? {} : { certified: { cluster: 'test', region: address, mayRelay } };
      wire.links.push(this.node(wire.ends[side]).open(transport, { isDialed: side === 0, address, ...certified }));
    }
    this.wires.push(wire);
    return wire;
  }

  disconnect(one: string, other: string): void {
    for (const wire of [...this.wires]) if (wire.ends.includes(one) && wire.ends.includes(other)) this.cut(wire);
  }

  kill(region: string): void {
    this.replicas.delete(region);
    for (const wire of [...this.wires]) if (wire.ends.includes(region)) this.cut(wire);
  }

  private cut(wire: Wire): void {
    this.wires = this.wires.filter((other) => other !== wire);
    for (const link of wire.links) link.closed();
  }

  /** It does nothing from now on, and its links stay open. */
  freeze(region: string): void {
    this.replicas.delete(region);
    for (const wire of this.wires) if (wire.ends.includes(region)) wire.isFrozen = true;
  }

  /** Ticks the first once and hands over what it has for the second, or only the first of its batches. */
  pass(from: string, to: string, batches = Number.POSITIVE_INFINITY): void {
    this.nowMs += TICK_MS;
    this.node(from).engine.advanceTo(this.nowMs);
    this.node(from).tick();
    for (const wire of this.wires) {
      const side =
        wire.ends[0] === from && wire.ends[1] === to ? 0 : wire.ends[1] === from && wire.ends[0] === to ? 1 : -1;
      if (side === -1) continue;
      let left = batches;
      for (const frame of wire.queues[side].splice(0))
        if (decodeFrame(frame, new Batch()).kind !== FrameKind.batch || left-- > 0) wire.links[1 - side].receive(frame);
    }
  }

  /** All replicas tick and all frames are delivered, for this long. */
  settle(milliseconds = 5000): void {
    for (let passed = 0; passed < milliseconds; passed += TICK_MS) {
      this.nowMs += TICK_MS;
      for (const replica of this.replicas.values()) {
        replica.engine.advanceTo(this.nowMs);
        while (replica.tick()) this.deliver();
      }
      this.deliver();
    }
  }

  private deliver(): void {
    for (const wire of [...this.wires]) {
      if (wire.isFrozen) continue;
      for (const side of [0, 1] as const)
        for (const frame of wire.queues[side].splice(0)) wire.links[1 - side].receive(frame);
    }
  }

  add(region: string, key: string, amount: bigint): void {
    this.withKey(region, key, (engine) => engine.add(...splitInt64(amount)));
  }

  remove(region: string, key: string): void {
    this.withKey(region, key, (engine) => engine.remove());
  }

  value(region: string, key: string): bigint {
    return this.withKey(region, key, (engine) => joinInt64(engine.valueHigh, engine.valueLow));
  }

  withKey<T>(region: string, key: string, work: (engine: Engine) => T): T {
    const { engine } = this.node(region);
    const input = ByteInput.copyOf(Buffer.from(key));
    engine.open(input, 0, Buffer.byteLength(key));
    try {
      return work(engine);
    } finally {
      engine.close();
    }
  }
}
