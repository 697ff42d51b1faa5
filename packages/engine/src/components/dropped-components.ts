import { Header, Shard } from '../memory/layout.js';
import { Component, keyLengthOf, originIndexOf, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/**
 * What this node let go without a change that a walk would find: components of other origins that their owner ended or an
 * expiry of the key reached, and own ones that expired among others. On disk they would still be there, and back after a
 * restart. So where there is a disk, each of them is noted in a chain of the shard until the disk knows.
 *
 *   word | a note
 *   -----|--------------------------------------------
 *   0    | next note
 *   1    | the origin's index
 *   2–3  | the version that is gone, a double
 *   4    | the key's length in bytes
 *   5 …  | the key, padded with zero bytes to a word
 */
const HEADER_WORDS = 5;

export interface DroppedComponent {
  readonly origin: Uint8Array;
  readonly version: number;
  readonly key: Uint8Array;
}

export function noteWords(keyLength: number): number {
  return HEADER_WORDS + ((keyLength + 3) >>> 2);
}

export class DroppedComponents {
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /** From now on somebody takes the notes. */
  start(): void {
    this.store.memory[Header.keepsDropped] = 1;
  }

  note(shard: number, record: number, component: number): void {
    const { memory, numbers, slab } = this.store;
    if (memory[Header.keepsDropped] === 0) return;
    const keyLength = keyLengthOf(memory, record);
    const at = slab.take(shard, noteWords(keyLength), false);
    if (at === 0) {
      memory[Header.droppedLost] = 1;
      return;
    }
    memory[at] = memory[shard + Shard.dropped];
    memory[at + 1] = originIndexOf(memory, component);
    numbers[(at + 2) >>> 1] = versionOf(memory, component);
    memory[at + 4] = keyLength;
    const key = record + Component.key;
    memory.copyWithin(at + HEADER_WORDS, key, key + ((keyLength + 3) >>> 2));
    memory[shard + Shard.dropped] = at;
  }

  /** Takes up to `limit` notes out of a shard; its lock is held. */
  take(shard: number, limit: number, idOf: (origin: number) => Uint8Array): DroppedComponent[] {
    const { memory, numbers, bytes, slab } = this.store;
    const taken: DroppedComponent[] = [];
    for (let at = memory[shard + Shard.dropped]; at !== 0 && taken.length < limit; at = memory[shard + Shard.dropped]) {
      const keyAt = (at + HEADER_WORDS) * 4;
      taken.push({
        origin: idOf(memory[at + 1]),
        version: numbers[(at + 2) >>> 1],
        key: Uint8Array.prototype.slice.call(bytes, keyAt, keyAt + memory[at + 4]),
      });
      memory[shard + Shard.dropped] = memory[at];
      slab.give(shard, at);
    }
    return taken;
  }

  /** Notes were taken, and are lost. */
  markLost(): void {
    Atomics.store(this.store.memory, Header.droppedLost, 1);
  }

  /** Whether a note could not be made since this was asked last. */
  takeLost(): boolean {
    return Atomics.exchange(this.store.memory, Header.droppedLost, 0) === 1;
  }
}
