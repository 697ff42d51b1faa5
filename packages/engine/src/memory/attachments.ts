import { Shard } from './layout.js';
import { Component } from './record.js';
import type { Slab } from './slab.js';

/**
 * What only some components have hangs off them in a short chain, sorted by kind: most keys are only ever incremented
 * and pay for none of it. All amounts are 64-bit; times and versions are doubles, which are exact for both.
 *
 *   kind     | words | content (word 0 is the next attachment, word 1 the kind and, above its low byte, `extra`)
 *   ---------|-------|---------------------------------------------------------------------------------------------
 *   expiry   | 8     | 2–3 expires at, ms, 0 = never; 4–5 version of that decision; 6, 7 neighbours in the timing
 *            |       | wheel (key records); extra = wheel slot + 1, 0 = not in the wheel
 *   negative | 4     | 2, 3 N, the sum of all decrements of this generation, unsigned
 *   summary  | 8     | key records only: 2 first foreign component; 3 how many foreign generations count; 4, 5 what they and
 *            |       | cancels come to, signed; 6–7 until when that holds, ms; extra = SummaryFlag
 *   floor    | 4     | 2–3 ms: generations of this key born before are dead
 *   cancel   | 8     | 2–3 the generation (`born`) that a reset cancelled; 4, 5 its P and 6, 7 its N as observed; extra = origin
 *   local balance   | 12    | key records of quota cells only, and known to this node alone: 2–3 tokens that may be spent here at
 *            |       | once; 4–5 tokens held beyond them; 6–7 with fewer than this it is time for more; 8–9 until when
 *            |       | nothing can be had, ms (local-balance.ts)
 *   unpublished | 8     | key records only, and known to this node alone: 2, 3 what was counted and told nobody, unsigned; 4–5 until
 *            |       | when it counts, ms; 6–7 when the generation it may become expires, ms (unpublished.ts)
 */
export const Kind = {
  expiry: 1,
  negative: 2,
  summary: 3,
  floor: 4,
  cancel: 5,
  localBalance: 6,
  unpublished: 7,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

export const SummaryFlag = {
  /** 64 bits are too few. */
  wide: 1,
  /** A component of the key has a reset or a floor, or an expiry that had passed: not every generation that is present counts. */
  careful: 2,
} as const;

const WORDS: Record<Kind, number> = { 1: 8, 2: 4, 3: 8, 4: 4, 5: 8, 6: 12, 7: 8 };
const KIND_MASK = 0xff;
const EXTRA_SHIFT = 8;

export class Attachments {
  private readonly memory: Int32Array;
  private readonly numbers: Float64Array;
  private readonly slab: Slab;

  constructor(memory: Int32Array, numbers: Float64Array, slab: Slab) {
    this.memory = memory;
    this.numbers = numbers;
    this.slab = slab;
  }

  /** The component's attachment of a kind (the first, where there can be several), or 0. */
  find(component: number, kind: Kind): number {
    const memory = this.memory;
    let at = memory[component + Component.attachments];
    while (at !== 0) {
      const found = memory[at + 1] & KIND_MASK;
      if (found === kind) return at;
      if (found > kind) return 0;
      at = memory[at];
    }
    return 0;
  }

  /** The next attachment of the same kind, or 0. */
  nextOfKind(attachment: number): number {
    const memory = this.memory;
    const next = memory[attachment];
    return next !== 0 && (memory[next + 1] & KIND_MASK) === (memory[attachment + 1] & KIND_MASK) ? next : 0;
  }

  /** Adds one, zeroed, in its place in the chain; 0 when there is no memory. */
  add(shard: number, component: number, kind: Kind): number {
    const memory = this.memory;
    const words = WORDS[kind];
    const fresh = this.slab.take(shard, words, false);
    if (fresh === 0) return 0;
    memory.fill(0, fresh, fresh + words);
    let link = component + Component.attachments;
    while (memory[link] !== 0 && (memory[memory[link] + 1] & KIND_MASK) < kind) link = memory[link];
    memory[fresh] = memory[link];
    memory[fresh + 1] = kind;
    memory[link] = fresh;
    memory[shard + Shard.attachmentCounts + kind]++;
    return fresh;
  }

  ensure(shard: number, component: number, kind: Kind): number {
    return this.find(component, kind) || this.add(shard, component, kind);
  }

  drop(shard: number, component: number, attachment: number): void {
    const memory = this.memory;
    let link = component + Component.attachments;
    while (memory[link] !== attachment) link = memory[link];
    memory[link] = memory[attachment];
    memory[shard + Shard.attachmentCounts + this.kindOf(attachment)]--;
    this.slab.give(shard, attachment);
  }

  dropEvery(shard: number, component: number): void {
    const memory = this.memory;
    for (let at = memory[component + Component.attachments]; at !== 0; ) {
      const next = memory[at];
      memory[shard + Shard.attachmentCounts + this.kindOf(at)]--;
      this.slab.give(shard, at);
      at = next;
    }
    memory[component + Component.attachments] = 0;
  }

  /** How many of a kind all components of a shard have together: often none, and then nobody needs to look for them. */
  countOf(shard: number, kind: Kind): number {
    return this.memory[shard + Shard.attachmentCounts + kind];
  }

  kindOf(attachment: number): number {
    return this.memory[attachment + 1] & KIND_MASK;
  }

  extraOf(attachment: number): number {
    return this.memory[attachment + 1] >>> EXTRA_SHIFT;
  }

  setExtra(attachment: number, extra: number): void {
    this.memory[attachment + 1] = (this.memory[attachment + 1] & KIND_MASK) | (extra << EXTRA_SHIFT);
  }

  /** The double at words `word` and `word + 1` of an attachment. */
  numberAt(attachment: number, word: number): number {
    return this.numbers[(attachment + word) >>> 1];
  }

  setNumberAt(attachment: number, word: number, value: number): void {
    this.numbers[(attachment + word) >>> 1] = value;
  }

  static footprintBytes(kind: Kind): number {
    return WORDS[kind] * 4;
  }
}
