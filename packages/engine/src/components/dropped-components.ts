import { bytesAt } from '../memory/bytes.js';
import { assertFields } from '../memory/fields.js';
import { keyWordAt } from '../memory/key-bytes.js';
import { HeaderWord, OriginWord, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { keyLengthOf, originIndexOf, versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/**
 * Notes about components that this node dropped without a change that a walk would find: those of other origins that
 * their owner ended or an expiry of the key reached, and own ones that expired beside others. The disk would still hold
 * them, and they would be back after a restart. So where there is a disk, a chain of the shard holds a note of each
 * until the disk has taken it.
 *
 *   word | a note
 *   -----|--------------------------------------------
 *   0    | next note
 *   1    | the origin's index
 *   2–3  | the version that was dropped, a double
 *   4    | the key's length in bytes
 *   5 …  | the key, padded with zero bytes to a word
 */
export const NoteWord = { next: 0, origin: 1, keyLength: 4, key: 5 } as const;
const NoteNumber = { version: 1 } as const;
assertFields('a note about a dropped component', NoteWord.key + 1, NoteWord, NoteNumber);

export interface DroppedComponent {
  readonly origin: Uint8Array;
  readonly version: number;
  readonly key: Uint8Array;
}

export function noteWords(keyLength: number): number {
  return NoteWord.key + ((keyLength + 3) >>> 2);
}

export class DroppedComponents {
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /** From now on a disk takes the notes. */
  start(): void {
    this.store.memory[HeaderWord.keepsDropped] = 1;
  }

  note(shard: number, record: number, component: number): void {
    const { memory, numbers, slab } = this.store;
    if (memory[HeaderWord.keepsDropped] === 0) return;
    const keyLength = keyLengthOf(memory, record);
    const at = slab.take(shard, noteWords(keyLength), false);
    if (at === 0) {
      memory[HeaderWord.droppedLost] = 1;
      return;
    }
    memory[at + NoteWord.next] = memory[shard + ShardWord.dropped];
    const origin = originIndexOf(memory, component);
    memory[at + NoteWord.origin] = origin;
    Atomics.add(memory, this.store.originSlotAt(origin) + OriginWord.references, 1);
    numbers[(at >>> 1) + NoteNumber.version] = versionOf(memory, component);
    memory[at + NoteWord.keyLength] = keyLength;
    const words = (keyLength + 3) >>> 2;
    for (let index = 0; index < words; index++) memory[at + NoteWord.key + index] = keyWordAt(memory, record, index);
    memory[shard + ShardWord.dropped] = at;
  }

  /** Takes up to `limit` notes out of a shard; its lock is held. */
  take(shard: number, limit: number, idOf: (origin: number) => Uint8Array): DroppedComponent[] {
    const { memory, numbers, slab } = this.store;
    const taken: DroppedComponent[] = [];
    const first = shard + ShardWord.dropped;
    for (let at = linkAt(memory, first); at !== 0 && taken.length < limit; at = linkAt(memory, first)) {
      const origin = memory[at + NoteWord.origin];
      Atomics.sub(memory, this.store.originSlotAt(origin) + OriginWord.references, 1);
      taken.push({
        origin: idOf(origin),
        version: numbers[(at >>> 1) + NoteNumber.version],
        key: bytesAt(memory, at + NoteWord.key, memory[at + NoteWord.keyLength]),
      });
      memory[first] = memory[at + NoteWord.next];
      slab.give(shard, at);
    }
    return taken;
  }

  /** Notes were taken and did not reach the disk. */
  markLost(): void {
    Atomics.store(this.store.memory, HeaderWord.droppedLost, 1);
  }

  /** Whether a note was lost, or could not be made, since the last call. */
  takeLost(): boolean {
    return Atomics.exchange(this.store.memory, HeaderWord.droppedLost, 0) === 1;
  }
}
