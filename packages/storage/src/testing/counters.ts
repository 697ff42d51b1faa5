import { ByteInput, Engine, joinInt64, splitInt64 } from '@quotadb/engine';

export const START_MS = Date.UTC(2026, 0, 1);

/** A small store with a few words to use it by. */
export function makeEngine(name = 1, shardCount = 4, maxMemoryBytes = 8 * 1024 * 1024, spareBytes = 0): Engine {
  const origin = new Uint8Array(32);
  origin[0] = name;
  return Engine.format({ maxMemoryBytes, spareBytes, shardCount, origin, nowMs: START_MS });
}

/** Opens a key, works on it and closes it. */
export function openKey<T>(engine: Engine, key: string, work: () => T): T {
  const bytes = new TextEncoder().encode(key);
  engine.open(ByteInput.copyOf(bytes), 0, bytes.length);
  try {
    return work();
  } finally {
    engine.close();
  }
}

export function add(engine: Engine, key: string, amount: number): void {
  openKey(engine, key, () => engine.add(...splitInt64(BigInt(amount))));
}

export function remove(engine: Engine, key: string): void {
  openKey(engine, key, () => engine.remove());
}

export function counterOf(engine: Engine, key: string): number {
  return openKey(engine, key, () => Number(joinInt64(engine.valueHigh, engine.valueLow)));
}

/** Every key with its value, as text: two stores hold the same if these are equal. */
export function contentOf(engine: Engine): string {
  const keys: string[] = [];
  let cursor = 0n;
  do {
    cursor = engine.scan(cursor, 1000, (key) => keys.push(new TextDecoder().decode(key)));
  } while (cursor !== 0n);
  return keys
    .sort()
    .map((key) => `${key}=${counterOf(engine, key)}`)
    .join(' ');
}
