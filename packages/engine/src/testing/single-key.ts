import type { Engine } from '../keys/engine.js';
import type { Status } from '../keys/status.js';
import { ByteInput } from '../memory/byte-input.js';
import { joinInt64, splitInt64 } from '../memory/int64.js';

/** One key, opened and closed around each call: what tests say in one line, the engine does in three. */
export interface Reading {
  readonly exists: boolean;
  readonly value: bigint;
  readonly expiresAtMs: number;
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function inputOf(key: string | Uint8Array): { input: ByteInput; length: number } {
  const bytes = typeof key === 'string' ? bytesOf(key) : key;
  return { input: ByteInput.copyOf(bytes), length: bytes.length };
}

export function withKey<T>(engine: Engine, key: string | Uint8Array, work: () => T): T {
  const { input, length } = inputOf(key);
  engine.open(input, 0, length);
  try {
    return work();
  } finally {
    engine.close();
  }
}

export function valueOfOpen(engine: Engine): bigint {
  return joinInt64(engine.valueHigh, engine.valueLow);
}

export function read(engine: Engine, key: string | Uint8Array): Reading {
  return withKey(engine, key, () => ({
    exists: engine.exists,
    value: valueOfOpen(engine),
    expiresAtMs: engine.expiresAtMs,
  }));
}

export function add(engine: Engine, key: string | Uint8Array, amount: bigint): Status {
  return withKey(engine, key, () => engine.add(...splitInt64(amount)));
}

export function assign(engine: Engine, key: string | Uint8Array, value: bigint, keepExpiry = false): Status {
  return withKey(engine, key, () => engine.assign(...splitInt64(value), keepExpiry));
}

export function remove(engine: Engine, key: string | Uint8Array): Status {
  return withKey(engine, key, () => engine.remove());
}

export function expireAt(engine: Engine, key: string | Uint8Array, atMs: number): Status {
  return withKey(engine, key, () => engine.expireAt(atMs));
}

export function persist(engine: Engine, key: string | Uint8Array): Status {
  return withKey(engine, key, () => engine.persist());
}

/** Every key a complete scan visits, in order of the visits. */
export function scanAll(engine: Engine, count = 10): Uint8Array[] {
  const keys: Uint8Array[] = [];
  let cursor = 0n;
  do {
    cursor = engine.scan(cursor, count, (key) => keys.push(key));
  } while (cursor !== 0n);
  return keys;
}
