import {
  Batch,
  bornOf,
  Component,
  copyKey,
  type Engine,
  isPresent,
  keyLengthOf,
  keyRecordOf,
  keyWordAt,
  NOT_PASSED,
  stemOf,
  stemWordsOf,
  versionOf,
  type WalkTarget,
} from '@quotadb/engine';
import { type ByteWriter, putVarint } from './bytes.js';
import { COMPONENT_BYTES, Flag, leastShared, Section, writeComponent } from './sections.js';

/** Their number is written at the end, into the one byte that was reserved for it. */
const MAXIMUM_COMPONENTS = 127;

/**
 * Writes the components of a walk as a section, directly from the store. Most components are a key and an amount, and a
 * batch in between would be most of the work. The bytes are the same as those of a batch (testing/write-batch.ts).
 */
export class SectionTarget implements WalkTarget {
  count = 0;
  bytes = 0;
  reached = 0;
  to = 0;
  passed = NOT_PASSED;
  private readonly writer: ByteWriter;
  private readonly batch = new Batch();
  private start = 0;
  /** Of the component before: its version, and the record of its key, 0 for none. */
  private version = 0;
  private keyRecord = 0;

  constructor(writer: ByteWriter) {
    this.writer = writer;
  }

  /** `origin` is undefined for the one that writes the file. */
  begin(shardIndex: number, origin: Uint8Array | undefined): void {
    const { writer } = this;
    writer.reserve(COMPONENT_BYTES);
    writer.byte(origin === undefined ? Section.own : Section.other);
    if (origin !== undefined) writer.raw(origin);
    writer.uint16(shardIndex);
    this.start = writer.length;
    writer.double(0);
    writer.byte(0);
    this.count = 0;
    this.bytes = 0;
    this.version = 0;
    this.keyRecord = 0;
  }

  take(engine: Engine, component: number): void {
    const { memory } = engine.store;
    const record = keyRecordOf(memory, component);
    const keyLength = keyLengthOf(memory, record);
    const version = versionOf(memory, component);
    const shared = this.keyRecord === 0 ? 0 : sharedKeyBytes(memory, this.keyRecord, record, keyLength);
    if (memory[component + Component.attachments] === 0) {
      this.writer.reserve(COMPONENT_BYTES + keyLength);
      const at = this.putPlain(memory, component, version, shared);
      this.writer.length = putKey(this.writer, at, memory, record, shared, keyLength);
    } else {
      this.batch.clear();
      this.batch.take(engine, component);
      writeComponent(this.writer, this.batch, 0, this.version, shared);
    }
    this.version = version;
    this.keyRecord = record;
    this.bytes += keyLength;
    this.count++;
  }

  /** Called at the end of a part of the walk. */
  end(): void {
    const { writer, start } = this;
    if (this.count > MAXIMUM_COMPONENTS) throw new RangeError(`a section of ${this.count} components`);
    writer.view.setFloat64(start, this.to, true);
    writer.bytes[start + 8] = this.count;
  }

  /** All but the key; returns the place behind. The writer's length stays. */
  private putPlain(memory: Int32Array, component: number, version: number, shared: number): number {
    const { bytes, view, length } = this.writer;
    let at = length;
    const born = bornOf(memory, component);
    const positiveLow = memory[component + Component.positiveLow];
    const positiveHigh = memory[component + Component.positiveHigh];
    bytes[at++] =
      (isPresent(memory, component) ? Flag.present : 0) |
      (version !== born ? Flag.older : 0) |
      (positiveHigh !== 0 ? Flag.large : 0) |
      (shared > 0 ? Flag.shared : 0);
    at = putVarint(bytes, at, version - this.version);
    if (version !== born) at = putVarint(bytes, at, version - born);
    if (positiveHigh !== 0) {
      view.setInt32(at, positiveLow, true);
      view.setInt32(at + 4, positiveHigh, true);
      at += 8;
    } else {
      at = putVarint(bytes, at, positiveLow >>> 0);
    }
    return shared > 0 ? putVarint(bytes, at, shared) : at;
  }
}

/**
 * The bytes of a key from this one on, behind their number; returns the place behind them. Of a key that is kept whole
 * it writes whole words, and so up to three bytes more.
 */
function putKey(
  { bytes, view }: ByteWriter,
  start: number,
  memory: Int32Array,
  record: number,
  from: number,
  end: number,
): number {
  let at = putVarint(bytes, start, end - from);
  const behind = at + end - from;
  if (stemOf(memory, record) !== 0) {
    copyKey(memory, record, from, bytes, at);
    return behind;
  }
  let word = record + Component.stemOrKey + (from >>> 2);
  const skipped = from & 3;
  if (skipped !== 0) {
    view.setInt32(at, memory[word++] >>> (skipped << 3), true);
    at += 4 - skipped;
  }
  for (; at < behind; at += 4) view.setInt32(at, memory[word++], true);
  return behind;
}

/** The same as `sharedBytes` for the keys of two records, a word at a time: keys end with zero bytes up to a word. */
function sharedKeyBytes(memory: Int32Array, before: number, record: number, keyLength: number): number {
  const most = Math.min(keyLength, keyLengthOf(memory, before));
  const stem = stemOf(memory, record);
  let count = stemOf(memory, before) === stem ? stemWordsOf(memory, stem) << 2 : 0;
  for (; count < most; count += 4) {
    const difference = keyWordAt(memory, before, count >>> 2) ^ keyWordAt(memory, record, count >>> 2);
    if (difference === 0) continue;
    count += (31 - Math.clz32(difference & -difference)) >>> 3;
    break;
  }
  return leastShared(Math.min(count, most));
}
