import { DATABASE_PREFIX_BYTES, databaseOf } from '../components/reserved.js';
import type { ByteInput } from '../memory/byte-input.js';
import { GROW_ONLY_BYTES, HeaderWord } from '../memory/layout.js';
import type { Store } from '../memory/store.js';

/**
 * Namespaces, given by key prefix when the store is made, whose keys only ever grow: a reset, an assignment or a
 * negative amount is refused there. Only such changes look here, so increments pay nothing.
 */
export class GrowOnly {
  private readonly prefixes: readonly Uint8Array[];

  constructor(store: Store) {
    const { memory, fixedBytes: bytes } = store;
    const prefixes: Uint8Array[] = [];
    let at = HeaderWord.growOnlyPrefixes * 4;
    for (let index = 0; index < memory[HeaderWord.growOnlyCount]; index++) {
      const length = bytes[at] | (bytes[at + 1] << 8);
      prefixes.push(Uint8Array.from(bytes.subarray(at + 2, at + 2 + length)));
      at += 2 + length;
    }
    this.prefixes = prefixes;
  }

  static format(store: Store, prefixes: readonly string[]): void {
    const { memory, fixedBytes: bytes } = store;
    let at = HeaderWord.growOnlyPrefixes * 4;
    for (const prefix of prefixes) {
      const encoded = new TextEncoder().encode(prefix);
      if (at + 2 + encoded.length > HeaderWord.growOnlyPrefixes * 4 + GROW_ONLY_BYTES) {
        throw new RangeError(`the grow-only prefixes take more than ${GROW_ONLY_BYTES} bytes together`);
      }
      bytes[at] = encoded.length & 0xff;
      bytes[at + 1] = encoded.length >>> 8;
      bytes.set(encoded, at + 2);
      at += 2 + encoded.length;
    }
    memory[HeaderWord.growOnlyCount] = prefixes.length;
  }

  get isEmpty(): boolean {
    return this.prefixes.length === 0;
  }

  /** A namespace is the same in every database. */
  covers({ bytes }: ByteInput, start: number, length: number): boolean {
    if (this.prefixes.length === 0) return false;
    const skipped = databaseOf(bytes, start, length) === 0 ? 0 : DATABASE_PREFIX_BYTES;
    for (const prefix of this.prefixes) if (startsWith(bytes, start + skipped, length - skipped, prefix)) return true;
    return false;
  }
}

function startsWith(bytes: Uint8Array, start: number, length: number, prefix: Uint8Array): boolean {
  if (prefix.length > length) return false;
  for (let at = 0; at < prefix.length; at++) if (bytes[start + at] !== prefix[at]) return false;
  return true;
}
