import { type Batch, type DroppedComponent, ORIGIN_ID_BYTES } from '@quotadb/engine';
import type { ByteReader, ByteWriter } from './bytes.js';

/**
 * The content of a record: sections, one after another.
 *
 *   section   | bytes
 *   ----------|---------------------------------------------------------------------------------------------------
 *   1 own     | kind, shard (2 bytes), `to` of the batch (double, 0 = more of this walk follows), how many components
 *             | (varint), components. The origin is the one that wrote the file
 *   2 other   | the same with the origin's 32 bytes behind the kind
 *   3 dropped | kind, origin, version (double), length of the key (varint), key
 *   4 end     | kind: the last section of a snapshot. A snapshot without it is not whole
 *
 *   component | bytes
 *   ----------|---------------------------------------------------------------------------------------------------
 *   flags     | 1: present 1, older 2, large 4, negative 8, decided 16, floor 32, cancels 64, shared 128
 *   version   | varint: how much more than that of the component before it in the section
 *   age       | varint, if older: version less born
 *   P         | varint, or 8 bytes if large
 *   shared    | varint, if shared: how many bytes the key begins with are those of the key before it in the section
 *   key       | length of the rest (varint), bytes
 *   N         | 8 bytes, if negative
 *   expiry    | expires at, ms, and the version of that expiry setting, two doubles, if decided
 *   floor     | double, if floor
 *   cancels   | if cancels: how many (varint), then for each origin (32), born (double), P (8), N (8)
 */
export const Section = { own: 1, other: 2, dropped: 3, end: 4 } as const;

export const Flag = {
  present: 1,
  older: 2,
  large: 4,
  negative: 8,
  decided: 16,
  floor: 32,
  cancels: 64,
  shared: 128,
} as const;

/** Shorter common prefixes are written again: a reference to them takes as many bytes. */
const LEAST_SHARED_BYTES = 3;

/** The most that a component takes besides its key and its cancels. */
export const COMPONENT_BYTES = 80;
const CANCEL_BYTES = ORIGIN_ID_BYTES + 24;

/**
 * `before` is the version of the component before it in the section, `shared` the length of their keys' common prefix.
 */
export function writeComponent(writer: ByteWriter, batch: Batch, index: number, before: number, shared: number): void {
  const keyStart = batch.keyStart(index);
  const keyLength = batch.keyEnd[index] - keyStart;
  const cancels = batch.cancelEnd[index] - batch.cancelStart(index);
  writer.reserve(COMPONENT_BYTES + keyLength + cancels * CANCEL_BYTES);
  const version = batch.version[index];
  const born = batch.born[index];
  const isLarge = batch.positiveHigh[index] !== 0;
  const isNegative = (batch.negativeLow[index] | batch.negativeHigh[index]) !== 0;
  writer.byte(
    (batch.present[index] === 1 ? Flag.present : 0) |
      (version !== born ? Flag.older : 0) |
      (isLarge ? Flag.large : 0) |
      (isNegative ? Flag.negative : 0) |
      (batch.decided[index] !== 0 ? Flag.decided : 0) |
      (batch.floorMs[index] !== 0 ? Flag.floor : 0) |
      (cancels > 0 ? Flag.cancels : 0) |
      (shared > 0 ? Flag.shared : 0),
  );
  writer.varint(version - before);
  if (version !== born) writer.varint(version - born);
  if (isLarge) {
    writer.uint32(batch.positiveLow[index]);
    writer.uint32(batch.positiveHigh[index]);
  } else {
    writer.varint(batch.positiveLow[index] >>> 0);
  }
  if (shared > 0) writer.varint(shared);
  const rest = keyLength - shared;
  writer.varint(rest);
  const { bytes, length } = writer;
  const { keyBytes } = batch;
  for (let at = 0; at < rest; at++) bytes[length + at] = keyBytes[keyStart + shared + at];
  writer.length += rest;
  if (isNegative) {
    writer.uint32(batch.negativeLow[index]);
    writer.uint32(batch.negativeHigh[index]);
  }
  if (batch.decided[index] !== 0) {
    writer.double(batch.expiresAtMs[index]);
    writer.double(batch.decided[index]);
  }
  if (batch.floorMs[index] !== 0) writer.double(batch.floorMs[index]);
  if (cancels > 0) writeCancels(writer, batch, index);
}

/** The length of the prefix that a key has in common with the one before it; 0 where it is too short to refer to. */
export function sharedBytes(
  bytes: Uint8Array,
  before: number,
  lengthBefore: number,
  at: number,
  length: number,
): number {
  const most = Math.min(length, lengthBefore);
  let count = 0;
  while (count < most && bytes[before + count] === bytes[at + count]) count++;
  return leastShared(count);
}

/** The length of a prefix that is referred to, which is 0 where that is too short. */
export function leastShared(count: number): number {
  return count < LEAST_SHARED_BYTES ? 0 : count;
}

function writeCancels(writer: ByteWriter, batch: Batch, index: number): void {
  writer.varint(batch.cancelEnd[index] - batch.cancelStart(index));
  for (let at = batch.cancelStart(index); at < batch.cancelEnd[index]; at++) {
    const { origin, born, positive, negative } = batch.cancels[at];
    writer.raw(origin);
    writer.double(born);
    for (const amount of [positive, negative]) {
      writer.view.setBigUint64(writer.length, amount, true);
      writer.length += 8;
    }
  }
}

/**
 * What comes before the number of components; the section's kind was read already. `own` is the origin that wrote the
 * file.
 */
export function readBatchHeader(reader: ByteReader, batch: Batch, isOwn: boolean, own: Uint8Array): void {
  batch.clear();
  batch.origin = isOwn ? own : Uint8Array.from(reader.raw(ORIGIN_ID_BYTES));
  batch.shardIndex = reader.uint16();
  batch.to = reader.double();
}

export function readComponents(reader: ByteReader, batch: Batch): void {
  const count = reader.varint();
  let version = 0;
  for (let index = 0; index < count; index++) version = readComponent(reader, batch, version);
}

function readComponent(reader: ByteReader, batch: Batch, before: number): number {
  const index = batch.count;
  const flags = reader.byte();
  const version = before + reader.varint();
  const born = (flags & Flag.older) !== 0 ? version - reader.varint() : version;
  let positiveHigh = 0;
  let positiveLow = 0;
  if ((flags & Flag.large) !== 0) {
    positiveLow = reader.uint32();
    positiveHigh = reader.uint32();
  } else {
    positiveLow = reader.varint();
  }
  const shared = (flags & Flag.shared) !== 0 ? reader.varint() : 0;
  const keyStart = batch.keyStart(index);
  const keyBefore = index < 2 ? 0 : batch.keyEnd[index - 2];
  if (shared > keyStart - keyBefore)
    throw new RangeError('the common prefix of two keys is longer than the first of them');
  const rest = reader.varint();
  const key = reader.position;
  reader.skip(rest);
  batch.reserve(shared + rest);
  const { keyBytes } = batch;
  if (shared > 0) copyWords(batch.keyInput.view, keyBefore, keyStart, shared);
  const restStart = keyStart + shared;
  const { bytes } = reader;
  for (let at = 0; at < rest; at++) keyBytes[restStart + at] = bytes[key + at];
  batch.keyEnd[index] = restStart + rest;
  batch.version[index] = version;
  batch.born[index] = born;
  batch.present[index] = (flags & Flag.present) !== 0 ? 1 : 0;
  batch.positiveLow[index] = positiveLow;
  batch.positiveHigh[index] = positiveHigh;
  const isNegative = (flags & Flag.negative) !== 0;
  batch.negativeLow[index] = isNegative ? reader.uint32() : 0;
  batch.negativeHigh[index] = isNegative ? reader.uint32() : 0;
  const isDecided = (flags & Flag.decided) !== 0;
  batch.expiresAtMs[index] = isDecided ? reader.double() : 0;
  batch.decided[index] = isDecided ? reader.double() : 0;
  batch.floorMs[index] = (flags & Flag.floor) !== 0 ? reader.double() : 0;
  if ((flags & Flag.cancels) !== 0) readCancels(reader, batch);
  batch.cancelEnd[index] = batch.cancels.length;
  batch.count++;
  return version;
}

/** Copies bytes four at a time, up to three more than asked for. */
function copyWords(view: DataView, from: number, to: number, count: number): void {
  for (let at = 0; at < count; at += 4) view.setInt32(to + at, view.getInt32(from + at, true), true);
}

function readCancels(reader: ByteReader, batch: Batch): void {
  const count = reader.varint();
  for (let index = 0; index < count; index++) {
    const origin = Uint8Array.from(reader.raw(ORIGIN_ID_BYTES));
    const born = reader.double();
    const amounts = reader.raw(16);
    const view = new DataView(amounts.buffer, amounts.byteOffset);
    batch.cancels.push({ origin, born, positive: view.getBigUint64(0, true), negative: view.getBigUint64(8, true) });
  }
}

/** Passes over the components of a section, whose count comes next. */
export function skipComponents(reader: ByteReader): { readonly count: number; readonly hasCancels: boolean } {
  const count = reader.varint();
  let allFlags = 0;
  for (let index = 0; index < count; index++) {
    const flags = reader.byte();
    allFlags |= flags;
    reader.varint();
    if ((flags & Flag.older) !== 0) reader.varint();
    if ((flags & Flag.large) !== 0) reader.skip(8);
    else reader.varint();
    if ((flags & Flag.shared) !== 0) reader.varint();
    reader.skip(reader.varint());
    if ((flags & (Flag.negative | Flag.decided | Flag.floor | Flag.cancels)) !== 0) skipRare(reader, flags);
  }
  return { count, hasCancels: (allFlags & Flag.cancels) !== 0 };
}

function skipRare(reader: ByteReader, flags: number): void {
  if ((flags & Flag.negative) !== 0) reader.skip(8);
  if ((flags & Flag.decided) !== 0) reader.skip(16);
  if ((flags & Flag.floor) !== 0) reader.skip(8);
  if ((flags & Flag.cancels) !== 0) reader.skip(reader.varint() * CANCEL_BYTES);
}

export function writeDropped(writer: ByteWriter, { origin, version, key }: DroppedComponent): void {
  writer.reserve(COMPONENT_BYTES + key.length);
  writer.byte(Section.dropped);
  writer.raw(origin);
  writer.double(version);
  writer.varint(key.length);
  writer.raw(key);
}

export function readDropped(reader: ByteReader): DroppedComponent {
  const origin = Uint8Array.from(reader.raw(ORIGIN_ID_BYTES));
  const version = reader.double();
  return { origin, version, key: Uint8Array.from(reader.raw(reader.varint())) };
}
