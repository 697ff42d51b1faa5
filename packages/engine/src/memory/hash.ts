import type { ByteInput } from './byte-input.js';
import { Component, keyLengthOf, keyWords } from './record.js';

/**
 * Two hashes of a key, made in one pass. `shared` is the same on every node: it chooses the shard and goes into
 * digests. `local` is seeded by this store: it chooses the bucket and the tag, so that a client cannot aim many keys at
 * one bucket. Each step (xor, multiply, rotate) is a bijection, and the murmur3 finisher spreads the bits.
 */
const SHARED_SEED = 0x51554f54;
const SHARED_MULTIPLIER = 0xcc9e2d51 | 0;
const LOCAL_MULTIPLIER = 0x1b873593 | 0;

export class KeyHash {
  shared = 0;
  local = 0;
  private readonly seed: number;

  constructor(seed: number) {
    this.seed = seed;
  }

  ofInput(input: ByteInput, start: number, length: number): void {
    const view = input.view;
    let shared = SHARED_SEED;
    let local = this.seed;
    const whole = start + (length & ~3);
    for (let at = start; at < whole; at += 4) {
      const word = view.getInt32(at, true);
      shared = mixShared(shared, word);
      local = mixLocal(local, word);
    }
    const rest = length & 3;
    if (rest !== 0) {
      const word = view.getInt32(whole, true) & ((1 << (rest << 3)) - 1);
      shared = mixShared(shared, word);
      local = mixLocal(local, word);
    }
    this.shared = finish(shared ^ length);
    this.local = finish(local ^ length);
  }

  ofRecord(memory: Int32Array, record: number): void {
    const length = keyLengthOf(memory, record);
    const end = record + keyWords(length);
    let shared = SHARED_SEED;
    let local = this.seed;
    for (let at = record + Component.key; at < end; at++) {
      shared = mixShared(shared, memory[at]);
      local = mixLocal(local, memory[at]);
    }
    this.shared = finish(shared ^ length);
    this.local = finish(local ^ length);
  }
}

function mixShared(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, SHARED_MULTIPLIER);
  return (mixed << 15) | (mixed >>> 17);
}

function mixLocal(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, LOCAL_MULTIPLIER);
  return (mixed << 13) | (mixed >>> 19);
}

function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
