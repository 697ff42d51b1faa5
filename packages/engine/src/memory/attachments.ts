import { assert } from './assert.js';
import { assertFields } from './fields.js';
import { ATTACHMENT_KINDS, ORIGIN_SLOT_WORDS, OriginWord, ShardWord } from './layout.js';
import { linkAt } from './link.js';
import { Component, isPresent } from './record.js';
import type { Slab } from './slab.js';

/**
 * Fields that only some components have hang off them in a short chain of attachments, sorted by kind: most keys are
 * only ever incremented and pay for none. Amounts are 64-bit, in two words; times and versions are doubles, exact for
 * both.
 *
 *   kind          | words | content (word 0 is the next attachment, word 1 the kind and, above its low byte, `extra`)
 *   --------------|-------|------------------------------------------------------------------------------------------
 *   expiry        | 8     | 2–3 expires at, ms, 0 = never; 4–5 the version that set it; 6, 7 neighbours in the timing
 *                 |       | wheel (key records); extra = wheel slot + 1, 0 = not in the wheel
 *   negative      | 4     | 2, 3 N, the sum of all decrements of this generation, unsigned
 *   summary       | 8     | key records only: 2 first foreign component; 3 number of foreign generations that count;
 *                 |       | 4, 5 the sum of those and of cancels, signed; 6–7 until when it holds, ms;
 *                 |       | extra = SummaryFlag
 *   floor         | 4     | 2–3 ms: generations of this key born before are dead
 *   cancel        | 8     | 2–3 the generation (`born`) that a reset cancelled; 4, 5 its P and 6, 7 its N as observed;
 *                 |       | extra = origin
 *   local balance | 12    | key records of quotas, known to this node alone: 2–3 tokens that may be spent here at once;
 *                 |       | 4–5 tokens held beyond them; 6–7 with fewer than this a refill is requested; 8–9 until when
 *                 |       | no region has tokens, ms (local-balance.ts)
 *   unpublished   | 8     | key records only, known to this node alone: 2, 3 the unpublished count, unsigned; 4–5 until
 *                 |       | when it counts, ms; 6–7 when the generation it may become expires, ms (unpublished.ts)
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

const AttachmentWord = { next: 0, kind: 1 } as const;
export const ATTACHMENT_HEADER_WORDS = 2;

export const ExpiryWord = { previous: 6, next: 7 } as const;
export const ExpiryNumber = { expiresAtMs: 1, decided: 2 } as const;
export const NegativeWord = { low: 2, high: 3 } as const;
export const SummaryWord = { firstForeign: 2, generations: 3, totalLow: 4, totalHigh: 5 } as const;
export const SummaryNumber = { holdsUntilMs: 3 } as const;
export const FloorNumber = { floorMs: 1 } as const;
export const CancelWord = { positiveLow: 4, positiveHigh: 5, negativeLow: 6, negativeHigh: 7 } as const;
export const CancelNumber = { born: 1 } as const;
export const LocalBalanceNumber = { balance: 1, reserve: 2, lowWatermark: 3, deniedUntilMs: 4 } as const;
export const UnpublishedWord = { low: 2, high: 3 } as const;
export const UnpublishedNumber = { untilMs: 2, expiresAtMs: 3 } as const;

export const SummaryFlag = {
  /** 64 bits are too few. */
  wide: 1,
  /** A component has a reset, a floor or an expiry that had passed: a present generation may not count. */
  careful: 2,
} as const;

const WORDS: Readonly<Record<Kind, number>> = { 1: 8, 2: 4, 3: 8, 4: 4, 5: 8, 6: 12, 7: 8 };
const KIND_MASK = 0xff;
const EXTRA_SHIFT = 8;

assert(Math.max(...Object.values(Kind)) < ATTACHMENT_KINDS, 'a shard counts attachments of every kind');
assertKind('an expiry', Kind.expiry, ExpiryWord, ExpiryNumber);
assertKind('a negative', Kind.negative, NegativeWord);
assertKind('a summary', Kind.summary, SummaryWord, SummaryNumber);
assertKind('a floor', Kind.floor, {}, FloorNumber);
assertKind('a cancel', Kind.cancel, CancelWord, CancelNumber);
assertKind('a local balance', Kind.localBalance, {}, LocalBalanceNumber);
assertKind('an unpublished count', Kind.unpublished, UnpublishedWord, UnpublishedNumber);

function assertKind(name: string, kind: Kind, words: Readonly<Record<string, number>>, numbers = {}): void {
  assertFields(name, WORDS[kind], { header: AttachmentWord.next, ...words }, numbers, {
    header: ATTACHMENT_HEADER_WORDS,
  });
}

export class Attachments {
  private readonly memory: Int32Array;
  private readonly numbers: Float64Array;
  private readonly slab: Slab;
  private readonly originSlots: number;

  constructor(memory: Int32Array, numbers: Float64Array, slab: Slab, originSlots: number) {
    this.originSlots = originSlots;
    this.memory = memory;
    this.numbers = numbers;
    this.slab = slab;
  }

  first(component: number): number {
    return linkAt(this.memory, component + Component.attachments);
  }

  next(attachment: number): number {
    return linkAt(this.memory, attachment + AttachmentWord.next);
  }

  /** The component's attachment of a kind (the first, where there can be several), or 0. */
  find(component: number, kind: Kind): number {
    const memory = this.memory;
    let at = linkAt(memory, component + Component.attachments);
    while (at !== 0) {
      const found = memory[at + AttachmentWord.kind] & KIND_MASK;
      if (found === kind) return at;
      if (found > kind) return 0;
      at = linkAt(memory, at + AttachmentWord.next);
    }
    return 0;
  }

  /** The next attachment of the same kind, or 0. */
  nextOfKind(attachment: number): number {
    const next = this.next(attachment);
    return next !== 0 && this.kindOf(next) === this.kindOf(attachment) ? next : 0;
  }

  /** Adds one, zeroed, in its place in the chain; 0 when there is no memory. */
  add(shard: number, component: number, kind: Kind): number {
    const memory = this.memory;
    const words = WORDS[kind];
    const fresh = this.slab.take(shard, words, false);
    if (fresh === 0) return 0;
    memory.fill(0, fresh, fresh + words);
    let link = component + Component.attachments;
    while (memory[link] !== 0 && this.kindOf(linkAt(memory, link)) < kind) {
      link = linkAt(memory, link) + AttachmentWord.next;
    }
    memory[fresh + AttachmentWord.next] = memory[link];
    memory[fresh + AttachmentWord.kind] = kind;
    memory[link] = fresh;
    memory[shard + ShardWord.attachmentCounts + kind]++;
    return fresh;
  }

  ensure(shard: number, component: number, kind: Kind): number {
    return this.find(component, kind) || this.add(shard, component, kind);
  }

  drop(shard: number, component: number, attachment: number): void {
    const memory = this.memory;
    let link = component + Component.attachments;
    while (linkAt(memory, link) !== attachment) link = linkAt(memory, link) + AttachmentWord.next;
    memory[link] = this.next(attachment);
    this.free(shard, attachment);
  }

  dropEvery(shard: number, component: number): void {
    const memory = this.memory;
    for (let at = this.first(component); at !== 0; ) {
      const next = this.next(at);
      this.free(shard, at);
      at = next;
    }
    memory[component + Component.attachments] = 0;
  }

  dropKind(shard: number, component: number, kind: Kind): void {
    for (let at = this.find(component, kind); at !== 0; at = this.find(component, kind))
      this.drop(shard, component, at);
  }

  /** Whether a component holds more than its own generation: a reset of another one, or a floor. */
  hasResetOrFloor(component: number): boolean {
    return this.find(component, Kind.floor) !== 0 || this.find(component, Kind.cancel) !== 0;
  }

  /** Whether a component has nothing left to say: its generation is over, and it holds no reset and no floor. */
  isEmpty(component: number): boolean {
    return !isPresent(this.memory, component) && !this.hasResetOrFloor(component);
  }

  /** A reset of a generation of this origin; 0 when there is no memory. Its slot is not reused before it is gone. */
  addCancel(shard: number, component: number, origin: number): number {
    const cancel = this.add(shard, component, Kind.cancel);
    if (cancel === 0) return 0;
    this.setExtra(cancel, origin);
    Atomics.add(this.memory, this.originSlots + origin * ORIGIN_SLOT_WORDS + OriginWord.references, 1);
    return cancel;
  }

  private free(shard: number, attachment: number): void {
    if (this.kindOf(attachment) === Kind.cancel) {
      const slot = this.originSlots + this.extraOf(attachment) * ORIGIN_SLOT_WORDS;
      Atomics.sub(this.memory, slot + OriginWord.references, 1);
    }
    this.memory[shard + ShardWord.attachmentCounts + this.kindOf(attachment)]--;
    this.slab.give(shard, attachment);
  }

  /** The number of attachments of a kind in a shard: often none, and then no component needs to be searched. */
  countOf(shard: number, kind: Kind): number {
    return this.memory[shard + ShardWord.attachmentCounts + kind];
  }

  kindOf(attachment: number): Kind {
    return (this.memory[attachment + AttachmentWord.kind] & KIND_MASK) as Kind;
  }

  extraOf(attachment: number): number {
    return this.memory[attachment + AttachmentWord.kind] >>> EXTRA_SHIFT;
  }

  setExtra(attachment: number, extra: number): void {
    this.memory[attachment + AttachmentWord.kind] =
      (this.memory[attachment + AttachmentWord.kind] & KIND_MASK) | (extra << EXTRA_SHIFT);
  }

  numberAt(attachment: number, field: number): number {
    return this.numbers[(attachment >>> 1) + field];
  }

  setNumberAt(attachment: number, field: number, value: number): void {
    this.numbers[(attachment >>> 1) + field] = value;
  }

  static wordsOf(kind: Kind): number {
    return WORDS[kind];
  }
}
