import { linkAt } from './link.js';
import { Component, Flag, keyLengthOf } from './record.js';

/**
 * The bytes of a record's key. Where many keys of a shard begin alike, that beginning lies once in a stem (stems.ts),
 * and the record has the stem's address and the rest of the key. A stem has whole words and is never all of the key.
 */
export const StemWord = { next: 0, uses: 1, words: 2, hash: 3, bytes: 4 } as const;

/** The stem of a record's key, or 0. */
export function stemOf(memory: Int32Array, record: number): number {
  return (memory[record + Component.bornHigh] & Flag.stem) === 0 ? 0 : linkAt(memory, record + Component.stemOrKey);
}

/** The words of the key that lie in its stem. */
export function stemWordsOf(memory: Int32Array, stem: number): number {
  return stem === 0 ? 0 : memory[stem + StemWord.words];
}

/** Where the part of the key begins that lies in its record. */
export function restOf(record: number, stem: number): number {
  return record + Component.stemOrKey + (stem === 0 ? 0 : 1);
}

/** One of the words of a key, the last one padded with zero bytes. */
export function keyWordAt(memory: Int32Array, record: number, index: number): number {
  const stem = stemOf(memory, record);
  const stemWords = stemWordsOf(memory, stem);
  return memory[index < stemWords ? stem + StemWord.bytes + index : restOf(record, stem) + index - stemWords];
}

/** The words of a key's record. */
export function recordWords(memory: Int32Array, record: number): number {
  const stem = stemOf(memory, record);
  return restOf(record, stem) - record + ((keyLengthOf(memory, record) + 3) >>> 2) - stemWordsOf(memory, stem);
}

/** Copies the bytes of a key from this one on. */
export function copyKey(memory: Int32Array, record: number, from: number, target: Uint8Array, start: number): void {
  const stem = stemOf(memory, record);
  const stemWords = stemWordsOf(memory, stem);
  const length = keyLengthOf(memory, record);
  const stemEnd = Math.max(stemWords << 2, from);
  let to = start;
  to = copyPart(memory, stem + StemWord.bytes, from, stemEnd, target, to);
  copyPart(memory, restOf(record, stem) - stemWords, stemEnd, length, target, to);
}

/** Bytes of the words that begin here. Returns where the next one goes. */
function copyPart(
  memory: Int32Array,
  words: number,
  from: number,
  end: number,
  target: Uint8Array,
  start: number,
): number {
  let to = start;
  let index = from;
  for (; index < end && (index & 3) !== 0; index++) target[to++] = memory[words + (index >>> 2)] >>> ((index & 3) << 3);
  for (; index + 4 <= end; index += 4, to += 4) {
    const word = memory[words + (index >>> 2)];
    target[to] = word;
    target[to + 1] = word >>> 8;
    target[to + 2] = word >>> 16;
    target[to + 3] = word >>> 24;
  }
  for (; index < end; index++) target[to++] = memory[words + (index >>> 2)] >>> ((index & 3) << 3);
  return to;
}

/** A copy of the bytes of a record's key. */
export function keyBytesOf(memory: Int32Array, record: number): Uint8Array {
  const bytes = new Uint8Array(keyLengthOf(memory, record));
  copyKey(memory, record, 0, bytes, 0);
  return bytes;
}
