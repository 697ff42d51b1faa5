import type { ByteInput } from '../memory/byte-input.js';
import { keyWordAt } from '../memory/key-bytes.js';
import { MAX_DATABASES } from '../memory/layout.js';
import { keyLengthOf } from '../memory/record.js';

/**
 * Keys that begin with these four bytes are the system's own: quota allotments and grants. They replicate and reach the
 * disk like any other, but no client opens, lists, counts or flushes them. The first three bytes alone mark keys that
 * the server keeps under names of its own (cells of windows and limits): it opens them like any key and refuses them to
 * clients by name. Of these, the keys of a database other than 0 are counted and found by its number:
 *
 *   offset | bytes | content
 *   -------|-------|-----------------------------------------------------------------
 *   0      | 4     | 00 51 44 64
 *   4      | 1     | the number of the database, from 1 to MAX_DATABASES - 1
 *   5      | rest  | the key as the client of that database wrote it
 */
export const RESERVED_PREFIX = Uint8Array.of(0x00, 0x51, 0x44, 0x42);
const RESERVED_WORD = 0x42445100;

export function isReservedKey(input: ByteInput, start: number, length: number): boolean {
  return length >= 4 && input.view.getInt32(start, true) === RESERVED_WORD;
}

export function isReservedRecord(memory: Int32Array, record: number): boolean {
  return keyWordAt(memory, record, 0) === RESERVED_WORD && keyLengthOf(memory, record) >= 4;
}

const DATABASE_WORD = 0x64445100;
export const DATABASE_PREFIX_BYTES = 5;

/** The beginning of every key of a database; empty for database 0. */
export function databasePrefix(database: number): Uint8Array {
  return database === 0 ? new Uint8Array(0) : Uint8Array.of(0x00, 0x51, 0x44, 0x64, database);
}

/** The database that a key of the store belongs to, by its name. */
export function databaseOf(bytes: Uint8Array, start: number, length: number): number {
  if (bytes[start] !== 0 || length < DATABASE_PREFIX_BYTES) return 0;
  if (bytes[start + 1] !== 0x51 || bytes[start + 2] !== 0x44 || bytes[start + 3] !== 0x64) return 0;
  return knownDatabase(bytes[start + 4]);
}

export function databaseOfRecord(memory: Int32Array, record: number): number {
  if (keyWordAt(memory, record, 0) !== DATABASE_WORD || keyLengthOf(memory, record) < DATABASE_PREFIX_BYTES) return 0;
  return knownDatabase(keyWordAt(memory, record, 1) & 0xff);
}

/** A peer may send any key. */
function knownDatabase(number: number): number {
  return number < MAX_DATABASES ? number : 0;
}
