import type { ByteInput } from '../memory/byte-input.js';
import { Component, keyLengthOf } from '../memory/record.js';

/**
 * Keys that begin with these four bytes are the system's own: quota allotments and grants. They replicate and reach the
 * disk like any other, but no client opens, lists, counts or flushes them. The first three bytes alone mark keys that
 * the server keeps under names of its own (cells of windows and limits): it opens them like any key and refuses them to
 * clients by name.
 */
export const RESERVED_PREFIX = Uint8Array.of(0x00, 0x51, 0x44, 0x42);
const RESERVED_WORD = 0x42445100;

export function isReservedKey(input: ByteInput, start: number, length: number): boolean {
  return length >= 4 && input.view.getInt32(start, true) === RESERVED_WORD;
}

export function isReservedRecord(memory: Int32Array, record: number): boolean {
  return memory[record + Component.key] === RESERVED_WORD && keyLengthOf(memory, record) >= 4;
}
