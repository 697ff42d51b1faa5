import { assert } from './assert.js';
import type { ByteInput } from './byte-input.js';
import { assertFields } from './fields.js';
import { StemWord } from './key-bytes.js';
import { SHARD_STEM_CANDIDATES, SHARD_STEM_CHAINS, ShardWord } from './layout.js';
import { linkAt } from './link.js';
import type { Slab } from './slab.js';

/**
 * Stems: beginnings that keys of a shard have in common, each kept once. A key of a client is often a path, such as
 * `api:tenants:eu-west:requests:4711`, and the part up to its last separator is that of many others.
 *
 *   word | what
 *   -----|------------------------------------------------
 *   0    | next stem of the chain
 *   1    | records that use it
 *   2    | its words
 *   3    | its hash
 *   4 …  | its bytes
 *
 * A beginning becomes a stem when the shard has lately seen it before: one that only a single key has would cost more
 * than it saves. A shard has few of them, so that looking for one is short; keys beyond that are kept whole.
 */
const HEADER_WORDS = StemWord.bytes;
assertFields('a stem', HEADER_WORDS + 1, StemWord);

/** A shorter beginning saves nothing: the record needs a word for the stem's address, and sizes are even. */
const LEAST_WORDS = 3;
const MOST_WORDS = 64;
/** Of the stems in a chain. */
const LONGEST_CHAIN = 8;

const COLON = 0x3a;
const SLASH = 0x2f;
const BAR = 0x7c;

const SEED = 0x53544d53;
const MULTIPLIER = 0xcc9e2d51 | 0;

export class Stems {
  private readonly memory: Int32Array;
  private readonly slab: Slab;

  constructor(memory: Int32Array, slab: Slab) {
    this.memory = memory;
    this.slab = slab;
  }

  /** The stem that a new record of this key uses from now on, or 0. */
  take(shard: number, input: ByteInput, start: number, length: number): number {
    const { memory } = this;
    const words = wordsBeforeSeparator(input, start, length);
    if (words < LEAST_WORDS) return 0;
    const hash = hashOf(input, start, words);
    const head = shard + ShardWord.stemChains + (hash & (SHARD_STEM_CHAINS - 1));
    let count = 0;
    for (let stem = linkAt(memory, head); stem !== 0; stem = linkAt(memory, stem + StemWord.next)) {
      if (memory[stem + StemWord.hash] === hash && this.isStem(stem, input, start, words)) {
        memory[stem + StemWord.uses]++;
        return stem;
      }
      count++;
    }
    return count < LONGEST_CHAIN ? this.makeIfSeen(shard, head, hash, input, start, words) : 0;
  }

  /** A record does not use its stem any more. */
  give(shard: number, stem: number): void {
    const { memory } = this;
    if (stem === 0) return;
    assert(memory[stem + StemWord.uses] > 0, 'a stem has as many uses as records that name it');
    if (--memory[stem + StemWord.uses] !== 0) return;
    let link = shard + ShardWord.stemChains + (memory[stem + StemWord.hash] & (SHARD_STEM_CHAINS - 1));
    while (linkAt(memory, link) !== stem) link = linkAt(memory, link) + StemWord.next;
    memory[link] = memory[stem + StemWord.next];
    this.slab.give(shard, stem);
  }

  static words(memory: Int32Array, stem: number): number {
    return HEADER_WORDS + memory[stem + StemWord.words];
  }

  private makeIfSeen(
    shard: number,
    head: number,
    hash: number,
    input: ByteInput,
    start: number,
    words: number,
  ): number {
    const { memory } = this;
    const candidate = shard + ShardWord.stemCandidates + ((hash >>> 8) & (SHARD_STEM_CANDIDATES - 1));
    if (memory[candidate] !== hash) {
      memory[candidate] = hash;
      return 0;
    }
    const stem = this.slab.take(shard, HEADER_WORDS + words, true);
    if (stem === 0) return 0;
    memory[stem + StemWord.next] = memory[head];
    memory[stem + StemWord.uses] = 1;
    memory[stem + StemWord.words] = words;
    memory[stem + StemWord.hash] = hash;
    for (let index = 0; index < words; index++)
      memory[stem + StemWord.bytes + index] = input.view.getInt32(start + (index << 2), true);
    memory[head] = stem;
    return stem;
  }

  private isStem(stem: number, input: ByteInput, start: number, words: number): boolean {
    const { memory } = this;
    if (memory[stem + StemWord.words] !== words) return false;
    const bytes = stem + StemWord.bytes;
    for (let index = 0; index < words; index++)
      if (memory[bytes + index] !== input.view.getInt32(start + (index << 2), true)) return false;
    return true;
  }
}

/** The whole words before the last separator, the separator included; at least a byte of the key is behind them. */
function wordsBeforeSeparator({ bytes }: ByteInput, start: number, length: number): number {
  const most = Math.min(length - 1, MOST_WORDS << 2);
  for (let count = most; count >= LEAST_WORDS << 2; count--) {
    const byte = bytes[start + count - 1];
    if (byte === COLON || byte === SLASH || byte === BAR) return count >>> 2;
  }
  return 0;
}

/** Never 0, which is no candidate. */
function hashOf({ view }: ByteInput, start: number, words: number): number {
  let hash = SEED ^ words;
  for (let index = 0; index < words; index++) {
    hash = Math.imul(hash ^ view.getInt32(start + (index << 2), true), MULTIPLIER);
    hash ^= hash >>> 15;
  }
  return hash | 0 || 1;
}
