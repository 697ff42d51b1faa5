import {
  type Chosen,
  inRanges,
  type Marks,
  rangesOf,
  type Sent,
  SLOT_COUNT,
  type SlotRange,
  slotOfKey,
} from '@quotadb/cluster';
import {
  ByteInput,
  type Engine,
  joinInt64,
  keyRecordOf,
  NOT_PASSED,
  ORIGIN_ID_BYTES,
  OWN_ORIGIN,
  RESERVED_PREFIX,
  unpublishedCounts,
  type WalkTarget,
  walkSince,
} from '@quotadb/engine';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, cellKindOf } from '@quotadb/rate';
import { countBySlot, NO_SLOT, nextTurn, slotOfStored, visitSlots } from '../stored/occupied-slots.js';
import type { MovingQuotas } from './received-entries.js';
import { EntryKind, MESSAGE_BYTES, type SlotEntry, writeEntry } from './slot-entries.js';

/** Names in memory. */
const COLLECTED_KEYS = 200_000;
const WALK_LIMITS = { components: 4096, keyBytes: 1024 * 1024 };

/** How much is done at once. */
export interface Pace {
  /** Of a batch, unless one slot has more: they are held for as long as these take. */
  readonly batchKeys: number;
  readonly batchSlots: number;
  /** Deleted between two turns. */
  readonly sliceKeys: number;
  /** Lets other work come in between. */
  readonly turn: () => Promise<void>;
}

const SERVER_PACE: Pace = { batchKeys: 5000, batchSlots: 2048, sliceKeys: 1000, turn: nextTurn };

/**
 * The keys of slots that move, on the main thread. The names of a batch are collected before it is held, by one visit
 * to all keys; those that change or are made meanwhile are at the end of the version lists, so a hold takes as long as
 * its batch, however many keys the store has.
 */
export class SlotKeys {
  private readonly engine: Engine;
  private readonly quotas: MovingQuotas;
  private readonly nowMs: () => number;
  private readonly pace: Pace;
  private isCollected: (slot: number) => boolean = () => false;
  /** By slot, as latin1. */
  private names = new Map<number, Set<string>>();
  /** By origin and shard: the version up to which changed names were collected. */
  private collected = new Map<number, number[]>();

  constructor(engine: Engine, quotas: MovingQuotas, nowMs: () => number, pace = SERVER_PACE) {
    this.pace = pace;
    this.engine = engine;
    this.quotas = quotas;
    this.nowMs = nowMs;
  }

  async choose(slots: readonly SlotRange[], share: number): Promise<Chosen> {
    const isMeant = inRanges(slots);
    if (rangesOf((slot) => isMeant(slot) && this.isCollected(slot)).length > 0) await this.catchUp();
    else await this.collect(isMeant);
    const sizeOf = (slot: number) => this.names.get(slot)?.size ?? 0;
    const isReady = (slot: number) => isMeant(slot) && this.isCollected(slot);
    const { batchKeys, batchSlots } = this.pace;
    return { batch: first(isReady, sizeOf, batchKeys * share, batchSlots), collected: rangesOf(isReady) };
  }

  /** The names of the first of these slots, as many as memory may be used for: several batches are made of them. */
  private async collect(isMeant: (slot: number) => boolean): Promise<void> {
    const { turn } = this.pace;
    const counts = await countBySlot(this.engine, false, turn);
    this.isCollected = inRanges(first(isMeant, (slot) => counts[slot], COLLECTED_KEYS, SLOT_COUNT));
    this.names = new Map();
    this.collected = new Map(this.origins().map((origin) => [origin, this.versionsOf(origin)]));
    await visitSlots(this.engine, (key, slot) => this.note(key, slot), false, turn);
  }

  async catchUp(): Promise<number> {
    let found = 0;
    for (const origin of this.origins()) {
      const from = this.collected.get(origin) ?? this.versionsOf(origin).map(() => 0);
      for (let shard = 0; shard < this.engine.shardCount; shard++) {
        const { count, reached } = this.walk(shard, origin, from[shard]);
        from[shard] = reached;
        found += count;
      }
      this.collected.set(origin, from);
      await this.pace.turn();
    }
    return found;
  }

  async send(slots: readonly SlotRange[], send: (entries: Uint8Array) => Promise<void>): Promise<Sent> {
    let message: Uint8Array[] = [];
    let [messageBytes, keys, bytes] = [0, 0, 0];
    const flush = async (): Promise<void> => {
      if (message.length > 0) await send(Buffer.concat(message));
      [message, messageBytes] = [[], 0];
    };
    this.engine.advanceTo(this.nowMs());
    const allotments = new Set<string>();
    for (const { first, last } of slots)
      for (let slot = first; slot <= last; slot++)
        for (const name of this.names.get(slot) ?? []) {
          const entry = this.entryOf(Buffer.from(name, 'latin1'), allotments);
          if (entry === undefined) continue;
          const written = writeEntry(entry);
          if (messageBytes + written.length > MESSAGE_BYTES) await flush();
          message.push(written);
          messageBytes += written.length;
          keys++;
          bytes += written.length;
        }
    await flush();
    return { keys, bytes };
  }

  /** Deletes everything in these slots; what others have of it goes when they receive that. */
  async drop(slots: readonly SlotRange[], mayGoOn: () => boolean): Promise<void> {
    const { engine } = this;
    const { sliceKeys, turn } = this.pace;
    const isMeant = inRanges(slots);
    const keys: Uint8Array[] = [];
    if (rangesOf((slot) => isMeant(slot) && !this.isCollected(slot)).length === 0) {
      await this.catchUp();
      for (const [slot, names] of this.names)
        if (isMeant(slot)) for (const name of names) keys.push(Buffer.from(name, 'latin1'));
    } else
      await visitSlots(
        engine,
        (key, slot) => {
          if (isMeant(slot)) keys.push(key);
        },
        false,
        turn,
      );
    for (const [at, key] of keys.entries()) {
      if (at % sliceKeys === 0) {
        await turn();
        // The map changes between two turns only.
        if (!mayGoOn()) throw new Error('these slots are not to be emptied any more');
      }
      engine.advanceTo(this.nowMs());
      engine.openAny(ByteInput.copyOf(key), 0, key.length);
      engine.discard();
      engine.close();
    }
    // What comes into these slots again is not known here.
    const isKept = this.isCollected;
    this.isCollected = (slot) => isKept(slot) && !isMeant(slot);
  }

  /** Counts of these slots that this server has kept to itself become components, which others receive. */
  async publish(slots: readonly SlotRange[]): Promise<void> {
    const { engine } = this;
    const isMeant = inRanges(slots);
    for (const counts of unpublishedCounts(engine)) {
      for (const { key } of counts) {
        if (!isMeant(slotOfStored(key))) continue;
        engine.openAny(ByteInput.copyOf(key), 0, key.length);
        engine.publish();
        engine.close();
      }
      await this.pace.turn();
    }
  }

  marks(revision: number): Marks {
    const seen = Object.fromEntries(this.origins().map((origin) => [this.idOf(origin), this.versionsOf(origin)]));
    const busy = new Set([...this.quotas.openSubjects()].map((subject) => slotOfKey(subject, 0, subject.length)));
    const policies = this.quotas.policiesVersion();
    return { revision, origin: this.idOf(OWN_ORIGIN), seen, policies, busy: rangesOf((slot) => busy.has(slot)) };
  }

  covers({ seen, policies }: Marks): boolean {
    const { engine } = this;
    if (policies > this.quotas.policiesVersion()) return false;
    return Object.entries(seen).every(([id, versions]) => {
      if (id.length !== ORIGIN_ID_BYTES * 2) return false;
      const origin = engine.origins.find(Uint8Array.from(Buffer.from(id, 'hex')));
      return versions.every(
        (version, shard) => version === 0 || (origin !== -1 && engine.seen(shard, origin) >= version),
      );
    });
  }

  private note(key: Uint8Array, slot: number): void {
    if (slot === NO_SLOT || !this.isCollected(slot)) return;
    const names = this.names.get(slot) ?? new Set();
    this.names.set(slot, names);
    names.add(Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1'));
  }

  /** The names of what an origin has changed in a shard behind a version. */
  private walk(shard: number, origin: number, since: number): { readonly count: number; readonly reached: number } {
    const { engine } = this;
    let count = 0;
    for (let from = since, passed = NOT_PASSED; ; ) {
      const keys: Uint8Array[] = [];
      const target = collecting(keys);
      walkSince(engine, shard, origin, from, target, WALK_LIMITS, since, passed);
      for (const key of keys) this.note(key, slotOfStored(key));
      count += keys.length;
      if (target.to !== 0 || keys.length === 0) return { count, reached: Math.max(since, target.to) };
      from = target.reached;
      ({ passed } = target);
    }
  }

  private entryOf(key: Uint8Array, allotments: Set<string>): SlotEntry | undefined {
    const { engine } = this;
    if (RESERVED_PREFIX.every((byte, at) => key[at] === byte)) {
      const described = this.quotas.describe(key);
      const name = described && `${described.at} ${Buffer.from(described.name).toString('latin1')}`;
      if (described === undefined || name === undefined || allotments.has(name)) return undefined;
      allotments.add(name);
      return { kind: EntryKind.allotment, ...described };
    }
    const exists = engine.open(ByteInput.copyOf(key), 0, key.length);
    const value = joinInt64(engine.valueHigh, engine.valueLow);
    const at = engine.expiresAtMs;
    engine.close();
    if (!exists) return undefined;
    const isBucket = cellKindOf(key) === CellKind.bucket;
    const name = isBucket
      ? Buffer.concat([key.subarray(0, CELL_HEADER_BYTES), key.subarray(BUCKET_HEADER_BYTES)])
      : key;
    return { kind: isBucket ? EntryKind.bucket : EntryKind.key, name, value, at, startMs: 0, endMs: 0 };
  }

  private origins(): number[] {
    return Array.from({ length: this.engine.origins.count }, (_, origin) => origin);
  }

  private versionsOf(origin: number): number[] {
    return Array.from({ length: this.engine.shardCount }, (_, shard) => this.engine.seen(shard, origin));
  }

  private idOf(origin: number): string {
    return Buffer.from(this.engine.origins.idOf(origin)).toString('hex');
  }
}

/** The first slots that are meant: at least one, and no more than have this many keys together. */
function first(
  isMeant: (slot: number) => boolean,
  sizeOf: (slot: number) => number,
  maximumKeys: number,
  maximumSlots: number,
): SlotRange[] {
  let [keys, count, isFull] = [0, 0, false];
  return rangesOf((slot) => {
    if (isFull || !isMeant(slot)) return false;
    keys += sizeOf(slot);
    isFull = count > 0 && (keys > maximumKeys || count >= maximumSlots);
    count++;
    return !isFull;
  });
}

function collecting(keys: Uint8Array[]): WalkTarget {
  let bytes = 0;
  return {
    get count() {
      return keys.length;
    },
    get bytes() {
      return bytes;
    },
    reached: 0,
    to: 0,
    passed: NOT_PASSED,
    take(engine, component) {
      const key = engine.keyOf(keyRecordOf(engine.store.memory, component));
      bytes += key.length;
      keys.push(key);
    },
  };
}
