import {
  Batch,
  bornOf,
  Component,
  copyBytes,
  Engine,
  isPresent,
  keyLengthOf,
  keyRecordOf,
  NOT_PASSED,
  versionOf,
  type WalkTarget,
} from '@quotadb/engine';
import type { ByteWriter } from './bytes.js';
import { COMPONENT_BYTES, Flag, Section, sharedBytes, writeComponent } from './sections.js';

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
  /** Of the component before. */
  private version = 0;
  private keyAt = 0;
  private keyLength = 0;
  /** The keys of two components, the one before and the present one, in turns. */
  private readonly keys = new Uint8Array(2 * Engine.MAX_KEY_BYTES);

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
    this.keyLength = 0;
  }

  take(engine: Engine, component: number): void {
    const { memory } = engine.store;
    const { keys: source } = this;
    const record = keyRecordOf(memory, component);
    const keyLength = keyLengthOf(memory, record);
    const keyAt = this.keyAt === 0 ? Engine.MAX_KEY_BYTES : 0;
    copyBytes(memory, record + Component.key, keyLength, source, keyAt);
    const version = versionOf(memory, component);
    const shared = sharedBytes(source, this.keyAt, this.keyLength, keyAt, keyLength);
    if (memory[component + Component.attachments] === 0) {
      this.writer.reserve(COMPONENT_BYTES + keyLength);
      this.writePlain(memory, component, version, shared);
      this.writeKey(source, keyAt + shared, keyLength - shared);
    } else {
      this.batch.clear();
      this.batch.take(engine, component);
      writeComponent(this.writer, this.batch, 0, this.version, shared);
    }
    this.version = version;
    this.keyAt = keyAt;
    this.keyLength = keyLength;
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

  private writePlain(memory: Int32Array, component: number, version: number, shared: number): void {
    const { writer } = this;
    const born = bornOf(memory, component);
    const positiveLow = memory[component + Component.positiveLow];
    const positiveHigh = memory[component + Component.positiveHigh];
    writer.byte(
      (isPresent(memory, component) ? Flag.present : 0) |
        (version !== born ? Flag.older : 0) |
        (positiveHigh !== 0 ? Flag.large : 0) |
        (shared > 0 ? Flag.shared : 0),
    );
    writer.varint(version - this.version);
    if (version !== born) writer.varint(version - born);
    if (positiveHigh !== 0) {
      writer.uint32(positiveLow);
      writer.uint32(positiveHigh);
    } else {
      writer.varint(positiveLow >>> 0);
    }
    if (shared > 0) writer.varint(shared);
  }

  private writeKey(source: Uint8Array, at: number, length: number): void {
    const { writer } = this;
    writer.varint(length);
    const { bytes, length: start } = writer;
    for (let index = 0; index < length; index++) bytes[start + index] = source[at + index];
    writer.length += length;
  }
}
