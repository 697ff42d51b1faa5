import { isReservedRecord } from '../components/reserved.js';
import { ByteInput } from '../memory/byte-input.js';
import { TWO_POW_32 } from '../memory/int64.js';
import { HeaderWord } from '../memory/layout.js';
import type { Engine } from './engine.js';

/**
 * Going through all keys. A cursor is a shard and a place in its table: shard × 2^32 + reversed hash (table.ts). It
 * needs no memory on our side, stays valid while tables grow, and 0 is both the start and the end.
 */
const PLACE_BITS = 32n;
const PLACE_MASK = (1n << PLACE_BITS) - 1n;

/** Buckets looked at in one call, however few keys they hold: a sparse table must not make one SCAN take long. */
const BUCKETS_PER_KEY_ASKED = 10;

export function scanKeys(engine: Engine, cursor: bigint, count: number, visit: (key: Uint8Array) => void): bigint {
  return scan(engine, cursor, count, (shard, record) => engine.isVisible(shard, record), visit);
}

/** The same of reserved keys, also of those that have expired. */
export function scanReserved(engine: Engine, cursor: bigint, count: number, visit: (key: Uint8Array) => void): bigint {
  return scan(engine, cursor, count, (_, record) => isReservedRecord(engine.store.memory, record), visit);
}

function scan(
  engine: Engine,
  cursor: bigint,
  count: number,
  isMeant: (shard: number, record: number) => boolean,
  visit: (key: Uint8Array) => void,
): bigint {
  let shardIndex = Number(cursor >> PLACE_BITS);
  let place = Number(cursor & PLACE_MASK);
  let found = 0;
  let buckets = 0;
  const { store } = engine;
  while (shardIndex < engine.shardCount && found < count && buckets < count * BUCKETS_PER_KEY_ASKED) {
    const shard = store.shardAt(shardIndex);
    const keys: Uint8Array[] = [];
    place = engine.withShard(shard, () =>
      store.table.visitBucket(shard, place, (record) => {
        if (isMeant(shard, record)) keys.push(engine.keyOf(record));
      }),
    );
    // Outside the lock: the visitor may open keys.
    for (const key of keys) visit(key);
    found += keys.length;
    buckets++;
    if (place >= TWO_POW_32) {
      place = 0;
      shardIndex++;
    }
  }
  return shardIndex >= engine.shardCount ? 0n : (BigInt(shardIndex) << PLACE_BITS) | BigInt(place);
}

/** Visits every reserved key of a store, also one that has expired; the visitor may open keys. */
export function visitReserved(engine: Engine, visit: (key: Uint8Array) => void): void {
  if (Atomics.load(engine.store.memory, HeaderWord.reservedRecords) === 0) return;
  for (let cursor = 0n; ; ) {
    cursor = scanReserved(engine, cursor, Number.MAX_SAFE_INTEGER, visit);
    if (cursor === 0n) return;
  }
}

/** Buckets that one search for a random key looks at: where nearly all keys have expired, it may find none. */
const BUCKETS_PER_SEARCH = 2000;

/** A key near a random place: the first bucket from there that has one, and one of its keys. Not quite uniform. */
export function randomKey(engine: Engine, entropy: number): Uint8Array | undefined {
  const place = entropy * engine.shardCount * TWO_POW_32;
  const chosen: Uint8Array[] = [];
  let cursor = BigInt(Math.floor(place));
  const calls = BUCKETS_PER_SEARCH / BUCKETS_PER_KEY_ASKED;
  for (let ends = 0, call = 0; ends < 2 && call < calls && chosen.length === 0; call++) {
    cursor = scanKeys(engine, cursor, 1, (key) => chosen.push(key));
    if (cursor === 0n) ends++;
  }
  return chosen[Math.floor((place % 1) * chosen.length)];
}

/** Observed reset of every key; those of grow-only namespaces stay. */
export function removeAll(engine: Engine): void {
  const { growOnly, store } = engine;
  engine.lockAll();
  const isAllGone = growOnly.isEmpty && Atomics.load(store.memory, HeaderWord.reservedRecords) === 0;
  if (isAllGone && isAloneEverywhere(engine) && engine.origins.count === 1) {
    store.clearRecords();
    for (let index = 0; index < store.shardCount; index++) engine.wheel.format(store.shardAt(index), engine.nowMs);
  } else if (growOnly.isEmpty) {
    removeEveryRecord(engine);
  } else {
    removeEvery(engine, () => true);
  }
  engine.unlock();
}

function isAloneEverywhere(engine: Engine): boolean {
  for (let index = 0; index < engine.shardCount; index++) {
    if (!engine.isAlone(engine.store.shardAt(index))) return false;
  }
  return true;
}

/** Every lock is held. */
export function removeEvery(engine: Engine, isMeant: (key: Uint8Array) => boolean): void {
  for (let cursor = 0n; ; ) {
    cursor = scanKeys(engine, cursor, 1000, (key) => {
      if (!isMeant(key)) return;
      engine.open(ByteInput.copyOf(key), 0, key.length);
      engine.remove();
      engine.close();
    });
    if (cursor === 0n) return;
  }
}

/** The same without looking at the keys: where no namespace is grow-only. Every lock is held. */
function removeEveryRecord(engine: Engine): void {
  const { store } = engine;
  for (let index = 0; index < engine.shardCount; index++) {
    const shard = store.shardAt(index);
    const remove = (record: number): void => engine.removeRecord(shard, record);
    for (let place = 0; place < TWO_POW_32; ) place = store.table.visitBucket(shard, place, remove);
  }
}
