import type { ByteInput } from './byte-input.js';
import { keyWordAt, restOf, StemWord, stemOf, stemWordsOf } from './key-bytes.js';
import { keyLengthOf } from './record.js';

/**
 * Two hashes of a key (docs/decisions/0018-hashes-of-keys.md).
 *
 * `shared` is the same on every node and never changes: it chooses the shard, goes into digests, and divides a shard
 * into ranges. Anyone can compute it, and so choose the shard of a key; nothing may depend on it being spread evenly.
 *
 * `local` is keyed with a secret of this store: it chooses the bucket and the tag. It is HalfSipHash-1-3 with 32 bits
 * of result, whose four words of state all begin with secret bits; a client without the secret cannot choose keys that
 * collide.
 */
const SHARED_SEED = 0x51554f54;
const SHARED_MULTIPLIER = 0xcc9e2d51 | 0;

/** HalfSipHash's own: they keep the words of the state apart where the secret does not. */
const SIP_CONSTANTS = [0, 0, 0x6c796765, 0x74656462] as const;
const SIP_FINAL = 0xff;
const SIP_FINAL_ROUNDS = 3;

export class KeyHash {
  shared = 0;
  local = 0;
  /** Integers of 32 bits, which V8 knows of this array and would not know of four fields: they halve the time. */
  private readonly state: Int32Array;

  /** The secret: HASH_SECRET_WORDS words. */
  constructor(secret: Int32Array) {
    this.state = secret.map((word, index) => word ^ SIP_CONSTANTS[index]);
  }

  /** Both hashes of a key, in one pass. */
  ofInput(input: ByteInput, start: number, length: number): void {
    const view = input.view;
    let shared = SHARED_SEED;
    const state = this.state;
    let v0 = state[0];
    let v1 = state[1];
    let v2 = state[2];
    let v3 = state[3];
    const whole = start + (length & ~3);
    for (let at = start; at < whole; at += 4) {
      const word = view.getInt32(at, true);
      shared = mixShared(shared, word);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v2 = (v2 + v3) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (((v0 << 16) | (v0 >>> 16)) + v3) | 0;
      v2 = (v2 + v1) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    const rest = length & 3;
    let last = 0;
    if (rest !== 0) {
      last = view.getInt32(whole, true) & ((1 << (rest << 3)) - 1);
      shared = mixShared(shared, last);
    }
    this.shared = finishShared(shared, length);
    this.local = finishLocal(v0, v1, v2, v3, last | (length << 24));
  }

  /** The states of both hashes behind the first bytes of a key, a multiple of four of them. */
  ofPrefix(prefix: KeyPrefix, input: ByteInput, start: number, bytes: number): void {
    const { state } = prefix;
    state.set(this.state);
    let shared = SHARED_SEED;
    for (let at = start; at < start + bytes; at += 4) {
      const word = input.view.getInt32(at, true);
      shared = mixShared(shared, word);
      state[3] ^= word;
      round(state);
      state[0] ^= word;
    }
    state[PREFIX_SHARED] = shared;
    prefix.bytes = bytes;
  }

  /** As ofInput, of a key whose first bytes were hashed before. */
  ofRest({ state, bytes }: KeyPrefix, input: ByteInput, start: number, length: number): void {
    const view = input.view;
    let v0 = state[0];
    let v1 = state[1];
    let v2 = state[2];
    let v3 = state[3];
    let shared = state[PREFIX_SHARED];
    const whole = start + (length & ~3);
    for (let at = start + bytes; at < whole; at += 4) {
      const word = view.getInt32(at, true);
      shared = mixShared(shared, word);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v2 = (v2 + v3) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (((v0 << 16) | (v0 >>> 16)) + v3) | 0;
      v2 = (v2 + v1) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    const rest = length & 3;
    let last = 0;
    if (rest !== 0) {
      last = view.getInt32(whole, true) & ((1 << (rest << 3)) - 1);
      shared = mixShared(shared, last);
    }
    this.shared = finishShared(shared, length);
    this.local = finishLocal(v0, v1, v2, v3, last | (length << 24));
  }

  /** The local hash of a record's key. */
  localOf(memory: Int32Array, record: number): number {
    const length = keyLengthOf(memory, record);
    const state = this.state;
    let v0 = state[0];
    let v1 = state[1];
    let v2 = state[2];
    let v3 = state[3];
    const stem = stemOf(memory, record);
    const stemWords = stemWordsOf(memory, stem);
    const rest = restOf(record, stem) - stemWords;
    const whole = length >>> 2;
    for (let index = 0; index < whole; index++) {
      const word = memory[index < stemWords ? stem + StemWord.bytes + index : rest + index];
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v2 = (v2 + v3) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (((v0 << 16) | (v0 >>> 16)) + v3) | 0;
      v2 = (v2 + v1) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    const last = (length & 3) === 0 ? 0 : memory[rest + whole];
    return finishLocal(v0, v1, v2, v3, last | (length << 24));
  }
}

/** The first bytes of keys that share them, hashed once; made by `KeyHash.ofPrefix`, of one store. */
export class KeyPrefix {
  bytes = 0;
  /** The four words of the local hash, then the shared one. */
  readonly state = new Int32Array(PREFIX_SHARED + 1);
}

const PREFIX_SHARED = 4;

/** One round of the local hash, where speed does not matter. */
function round(state: Int32Array): void {
  state[0] += state[1];
  state[2] += state[3];
  state[1] = ((state[1] << 5) | (state[1] >>> 27)) ^ state[0];
  state[3] = ((state[3] << 8) | (state[3] >>> 24)) ^ state[2];
  state[0] = ((state[0] << 16) | (state[0] >>> 16)) + state[3];
  state[2] += state[1];
  state[3] = ((state[3] << 7) | (state[3] >>> 25)) ^ state[0];
  state[1] = ((state[1] << 13) | (state[1] >>> 19)) ^ state[2];
  state[2] = (state[2] << 16) | (state[2] >>> 16);
}

/** The shared hash of a key. */
export function sharedHashOf(input: ByteInput, start: number, length: number): number {
  const view = input.view;
  let shared = SHARED_SEED;
  const whole = start + (length & ~3);
  for (let at = start; at < whole; at += 4) shared = mixShared(shared, view.getInt32(at, true));
  const rest = length & 3;
  if (rest !== 0) shared = mixShared(shared, view.getInt32(whole, true) & ((1 << (rest << 3)) - 1));
  return finishShared(shared, length);
}

/** The shared hash of a record's key. */
export function sharedHashOfRecord(memory: Int32Array, record: number): number {
  const length = keyLengthOf(memory, record);
  let shared = SHARED_SEED;
  const words = (length + 3) >>> 2;
  for (let index = 0; index < words; index++) shared = mixShared(shared, keyWordAt(memory, record, index));
  return finishShared(shared, length);
}

function mixShared(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, SHARED_MULTIPLIER);
  return (mixed << 15) | (mixed >>> 17);
}

/** The finisher of murmur3. */
function finishShared(hash: number, length: number): number {
  let mixed = hash ^ length;
  mixed ^= mixed >>> 16;
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The last word, with the lowest byte of the length at its top, and the rounds that end the hash. */
function finishLocal(s0: number, s1: number, s2: number, s3: number, last: number): number {
  let v0 = s0;
  let v1 = s1;
  let v2 = s2;
  let v3 = s3 ^ last;
  for (let round = 0; round <= SIP_FINAL_ROUNDS; round++) {
    v0 = (v0 + v1) | 0;
    v2 = (v2 + v3) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (((v0 << 16) | (v0 >>> 16)) + v3) | 0;
    v2 = (v2 + v1) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    if (round === 0) {
      v0 ^= last;
      v2 ^= SIP_FINAL;
    }
  }
  return v1 ^ v3;
}
