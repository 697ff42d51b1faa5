import { running, STRING_BYTES } from '../values/running.js';

/**
 * What strings cost a script. V8 keeps a string that grows part by part as a tree of its parts until it is read, so
 * each part has a price beside its bytes; and a turn, for loops over parts take time that the host must be able to end.
 */
const PART_BYTES = 40;

/** A part of a string that is being put together, of this many bytes. */
export function charge(bytes: number): void {
  if (--running.turns < 0) running.interrupt();
  running.spend(PART_BYTES + bytes);
}

/** The same, of this part. */
export function charged(part: string): string {
  charge(part.length);
  return part;
}

/** A string that is made at once. */
export function stringMade(text: string): string {
  running.spend(STRING_BYTES + text.length);
  return text;
}

/** Bytes that are replaced at once: V8 would note all places of a long string before it makes the new one. */
const CHUNK_BYTES = 16 * 1024;

/** As text.replace(), for what matches single bytes. */
export function replaceBytes(text: string, bytes: RegExp, replacement: (byte: string) => string): string {
  if (text.length <= CHUNK_BYTES) return charged(text.replace(bytes, replacement));
  let replaced = '';
  for (let start = 0; start < text.length; start += CHUNK_BYTES) {
    running.turns -= CHUNK_BYTES / 64;
    replaced += charged(text.slice(start, start + CHUNK_BYTES).replace(bytes, replacement));
  }
  return replaced;
}
