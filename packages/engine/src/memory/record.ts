import { assert } from './assert.js';
import { assertFields } from './fields.js';
import { TWO_POW_32 } from './int64.js';
import { linkAt } from './link.js';

/**
 * Components, of which the store is made. Every counter is a set of them, one for each origin that touched it;
 * only its origin writes a component, and every change stamps it with the next version of that (origin, shard).
 *
 * A key's record is this node's own component followed by the key's bytes, so that an increment touches one record; an
 * own component that never changed has version 0. The components of other origins are records of their own, chained
 * from the key's summary (attachments.ts).
 *
 *   word | component
 *   -----|--------------------------------------------------------------------------------------------------
 *   0    | version, low half
 *   1    | bits 0–20: version, high half; bits 21–31: detail, low 11 bits
 *   2    | born, low half
 *   3    | bits 0–20: born, high half; bits 21–26: detail, high 6 bits; bits 27–31: flags
 *   4, 5 | P, the sum of all increments of this generation: unsigned, low and high half
 *   6, 7 | previous and next component of this (origin, shard), in version order
 *   8    | first attachment, 0 = none
 *   ---- | then, in a key's record                     | in a foreign component
 *   9    | the key, padded with zero bytes to a word;  | the key's record
 *   10   | with a stem, its address and then the rest  | next foreign component of the key
 *
 * The detail is the key's length in bytes in a key's record, the origin's index in a foreign component.
 *
 * Versions are hybrid times: milliseconds since EPOCH_MS times 2^13, or the last version plus one where that is more.
 * So a version orders changes and dates them (lag is a subtraction), and `born`, the version that began a generation,
 * both names that generation and dates it. 53 bits last until 2059 and 8 million changes a second in one shard.
 */
export const Component = {
  versionLow: 0,
  versionHigh: 1,
  bornLow: 2,
  bornHigh: 3,
  positiveLow: 4,
  positiveHigh: 5,
  previous: 6,
  next: 7,
  attachments: 8,
  stemOrKey: 9,
  foreignKey: 9,
  foreignSibling: 10,
} as const;

export const FOREIGN_WORDS = 12;

const { stemOrKey, foreignKey, foreignSibling, ...common } = Component;
assertFields('a foreign component', FOREIGN_WORDS, { ...common, foreignKey, foreignSibling });
assertFields('a key record', stemOrKey + 1, { ...common, stemOrKey });

const HIGH_MASK = 0x1fffff;
const DETAIL_SHIFT = 21;
const DETAIL_LOW_BITS = 11;
const DETAIL_HIGH_MASK = 0x3f;
const DETAIL_BITS = 17;

export const Flag = {
  foreign: 1 << 27,
  /** The generation has begun and was not ended: it counts, even if its amount is 0. */
  present: 1 << 28,
  /** Key records only: the shard's key count includes this key. */
  counted: 1 << 29,
  /** Key records only: the key begins with a stem (key-bytes.ts). */
  stem: 1 << 30,
} as const;
const FLAG_MASK = -1 << 27;

/** 2025-01-01T00:00:00Z, as early as it can be: versions are counted from here to make 53 bits last. */
export const EPOCH_MS = 1735689600000;
/** Versions a millisecond: above the rate at which one shard can possibly be changed. */
const VERSIONS_PER_MS = 8192;
/** What the field of a version holds. */
export const MAX_VERSION = 2 ** 53 - 1;
/** A clock that is decades ahead must not push versions out of their 53 bits: from here on they only count. */
export const LAST_DATED_VERSION = 2 ** 53 - 2 ** 40;
/** And from a peer or a file none above this is taken (batch-gate.ts), so that there is room to count on. */
export const LAST_ADMITTED_VERSION = 2 ** 53 - 2 ** 39;

export function versionAt(timeMs: number): number {
  return timeMs > EPOCH_MS ? Math.min((timeMs - EPOCH_MS) * VERSIONS_PER_MS, LAST_DATED_VERSION) : 0;
}

export function timeOfVersion(version: number): number {
  return Math.floor(version / VERSIONS_PER_MS) + EPOCH_MS;
}

export function versionOf(memory: Int32Array, component: number): number {
  return (
    (memory[component + Component.versionHigh] & HIGH_MASK) * TWO_POW_32 +
    (memory[component + Component.versionLow] >>> 0)
  );
}

export function setVersion(memory: Int32Array, component: number, version: number): void {
  assert(version >= 0 && version <= MAX_VERSION, 'a version has 53 bits');
  memory[component + Component.versionLow] = version | 0;
  memory[component + Component.versionHigh] =
    (memory[component + Component.versionHigh] & ~HIGH_MASK) | Math.floor(version / TWO_POW_32);
}

export function bornOf(memory: Int32Array, component: number): number {
  return (
    (memory[component + Component.bornHigh] & HIGH_MASK) * TWO_POW_32 + (memory[component + Component.bornLow] >>> 0)
  );
}

export function setBorn(memory: Int32Array, component: number, born: number): void {
  assert(born >= 0 && born <= MAX_VERSION, 'a birth has 53 bits');
  memory[component + Component.bornLow] = born | 0;
  memory[component + Component.bornHigh] =
    (memory[component + Component.bornHigh] & ~HIGH_MASK) | Math.floor(born / TWO_POW_32);
}

function detailOf(memory: Int32Array, component: number): number {
  return (
    (memory[component + Component.versionHigh] >>> DETAIL_SHIFT) |
    (((memory[component + Component.bornHigh] >>> DETAIL_SHIFT) & DETAIL_HIGH_MASK) << DETAIL_LOW_BITS)
  );
}

export function keyLengthOf(memory: Int32Array, keyRecord: number): number {
  return detailOf(memory, keyRecord);
}

export function isForeign(memory: Int32Array, component: number): boolean {
  return (memory[component + Component.bornHigh] & Flag.foreign) !== 0;
}

export function isPresent(memory: Int32Array, component: number): boolean {
  return (memory[component + Component.bornHigh] & Flag.present) !== 0;
}

export function originIndexOf(memory: Int32Array, component: number): number {
  return isForeign(memory, component) ? detailOf(memory, component) : 0;
}

/** The record of the key that a component, own or foreign, belongs to. */
export function keyRecordOf(memory: Int32Array, component: number): number {
  return isForeign(memory, component) ? linkAt(memory, component + Component.foreignKey) : component;
}

/** An empty component that never changed: version 0, nothing counted. */
export function clearComponent(memory: Int32Array, component: number, detail: number, flags: number): void {
  assert(detail >>> DETAIL_BITS === 0, 'the length of a key and the index of an origin have 17 bits');
  memory[component + Component.versionLow] = 0;
  memory[component + Component.versionHigh] = detail << DETAIL_SHIFT;
  memory[component + Component.bornLow] = 0;
  memory[component + Component.bornHigh] = ((detail >>> DETAIL_LOW_BITS) << DETAIL_SHIFT) | (flags & FLAG_MASK);
  memory[component + Component.positiveLow] = 0;
  memory[component + Component.positiveHigh] = 0;
  memory[component + Component.previous] = 0;
  memory[component + Component.next] = 0;
  memory[component + Component.attachments] = 0;
}

/** The words of a key's record that is kept whole. */
export function keyWords(keyLength: number): number {
  return Component.stemOrKey + ((keyLength + 3) >>> 2);
}
