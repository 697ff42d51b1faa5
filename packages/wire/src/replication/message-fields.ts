import {
  MAXIMUM_AGREEMENTS,
  MAXIMUM_COMPONENTS,
  MAXIMUM_ENTRIES,
  MAXIMUM_KEY_BYTES,
  MAXIMUM_SHARD,
  MAXIMUM_TEXT_BYTES,
} from './bounds.js';
import { type Agreement, FrameError } from './frames.js';
import type { ProtoReader } from './proto-reader.js';
import { type ProtoWriter, VARINT_BYTES, WireType } from './proto-writer.js';

/** One kind of field: how its value is written, and read. `before` is the value so far, for fields that repeat. */
export interface FieldKind<T> {
  /** The value of a field that is not there. Made anew each time: lists are filled. */
  missing(): T;
  write(writer: ProtoWriter, field: number, value: T): void;
  read(reader: ProtoReader, before: T): T;
}

const UINT32_MAX = 2 ** 32 - 1;

export const uint32 = wholeNumber(UINT32_MAX);
export const uint53 = wholeNumber(Number.MAX_SAFE_INTEGER);
export const shard = wholeNumber(MAXIMUM_SHARD);
export const uint53List = numberList(Number.MAX_SAFE_INTEGER);
export const shardList = numberList(MAXIMUM_SHARD);

function wholeNumber(maximum: number): FieldKind<number> {
  return {
    missing: () => 0,
    write(writer, field, value) {
      if (value > maximum) throw new FrameError(`${value} cannot be sent: at most ${maximum} is possible`);
      writer.uint53Field(field, value);
    },
    read(reader) {
      reader.expect(WireType.varint);
      return reader.uint32(maximum, `field ${reader.field}`);
    },
  };
}

function numberList(maximum: number): FieldKind<number[]> {
  return {
    missing: () => [],
    write(writer, field, values) {
      if (values.length === 0) return;
      checkLength(values.length, MAXIMUM_ENTRIES);
      const column = writer.begin(field);
      writer.reserve(values.length * VARINT_BYTES);
      for (const value of values) {
        if (value > maximum) throw new FrameError(`${value} cannot be sent: at most ${maximum} is possible`);
        writer.uint53(value);
      }
      writer.end(column);
    },
    read(reader, values) {
      const end = reader.columnEnd(WireType.varint);
      while (reader.position < end) {
        checkLength(values.length + 1, MAXIMUM_ENTRIES);
        values.push(reader.uint32(maximum, `an entry of field ${reader.field}`));
      }
      reader.closeColumn(end);
      return values;
    },
  };
}

/** Times and ages in milliseconds, fractions included; an age of -1 is not known. */
const HIGHEST_DOUBLE = Number.MAX_SAFE_INTEGER;
export const double: FieldKind<number> = {
  missing: () => 0,
  write: (writer, field, value) => writer.doubleField(field, value),
  read(reader) {
    const value = reader.double();
    if (Math.abs(value) <= HIGHEST_DOUBLE) return value;
    throw new FrameError(`field ${reader.field} is ${value}: at most ${HIGHEST_DOUBLE} is possible`);
  },
};

export const boolean: FieldKind<boolean> = {
  missing: () => false,
  write: (writer, field, value) => writer.uint53Field(field, value ? 1 : 0),
  read(reader) {
    reader.expect(WireType.varint);
    reader.uint64();
    return (reader.high | reader.low) !== 0;
  },
};

export const text: FieldKind<string> = {
  missing: () => '',
  write: (writer, field, value) => writer.textField(field, value),
  read: (reader) => reader.text(MAXIMUM_TEXT_BYTES),
};

export const origin: FieldKind<Uint8Array> = {
  missing: () => new Uint8Array(0),
  write: (writer, field, value) => writer.bytesField(field, value),
  read: (reader) => Uint8Array.from(reader.bytesValue()),
};

/** Bytes of any length that fits into a frame. */
export const bytes: FieldKind<Uint8Array> = origin;

export const keyList: FieldKind<Uint8Array[]> = {
  missing: () => [],
  write(writer, field, keys) {
    checkLength(keys.length, MAXIMUM_COMPONENTS);
    for (const key of keys) {
      checkKey(key);
      writer.bytesField(field, key);
    }
  },
  read(reader, keys) {
    checkLength(keys.length + 1, MAXIMUM_COMPONENTS);
    const key = reader.bytesValue();
    checkKey(key);
    keys.push(Uint8Array.from(key));
    return keys;
  },
};

function checkKey({ length }: Uint8Array): void {
  if (length > MAXIMUM_KEY_BYTES) {
    throw new FrameError(`a key has ${length} bytes: at most ${MAXIMUM_KEY_BYTES} are possible`);
  }
}

/** The digests of ranges: as many as there are ranges, which is a power of two. */
export const rangeDigests: FieldKind<Int32Array> = {
  missing: () => new Int32Array(0),
  write(writer, field, digests) {
    if (digests.length === 0) return;
    checkLength(digests.length, MAXIMUM_ENTRIES);
    const column = writer.begin(field);
    writer.reserve(digests.length * 4);
    for (const digest of digests) {
      writer.view.setInt32(writer.length, digest, true);
      writer.length += 4;
    }
    writer.end(column);
  },
  /** Accepted in one piece only, as all replicas write it: nothing is copied twice. */
  read(reader, before) {
    const end = reader.lengthDelimited();
    const count = Math.floor((end - reader.position) / 4);
    checkLength(count, MAXIMUM_ENTRIES);
    if (before.length > 0) throw new FrameError('the digests of ranges come in pieces');
    const digests = new Int32Array(count);
    for (let index = 0; index < count; index++) digests[index] = reader.fixed32();
    reader.closeColumn(end);
    return digests;
  },
};

const DIGEST = /^[0-9a-f]{16}$/;

/** Eight bytes each, as hexadecimal digits. */
export const digestList: FieldKind<string[]> = {
  missing: () => [],
  write(writer, field, digests) {
    if (digests.length === 0) return;
    checkLength(digests.length, MAXIMUM_ENTRIES);
    const column = writer.begin(field);
    writer.reserve(digests.length * 8);
    for (const digest of digests) {
      if (!DIGEST.test(digest)) throw new FrameError(`"${digest}" cannot be sent: a digest has 16 hexadecimal digits`);
      writer.view.setUint32(writer.length, Number.parseInt(digest.slice(8), 16), true);
      writer.view.setUint32(writer.length + 4, Number.parseInt(digest.slice(0, 8), 16), true);
      writer.length += 8;
    }
    writer.end(column);
  },
  read(reader, digests) {
    const end = reader.columnEnd(WireType.fixed64);
    while (reader.position < end) {
      checkLength(digests.length + 1, MAXIMUM_ENTRIES);
      const low = reader.fixed32();
      digests.push(hexadecimal(reader.fixed32()) + hexadecimal(low));
    }
    reader.closeColumn(end);
    return digests;
  },
};

function hexadecimal(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0');
}

export const agreementList: FieldKind<Agreement[]> = {
  missing: () => [],
  write(writer, field, agreements) {
    checkLength(agreements.length, MAXIMUM_AGREEMENTS);
    for (const { name, value } of agreements) {
      const message = writer.begin(field);
      writer.textField(1, name);
      writer.textField(2, value);
      writer.end(message);
    }
  },
  read(reader, agreements) {
    checkLength(agreements.length + 1, MAXIMUM_AGREEMENTS);
    const end = reader.lengthDelimited();
    const limit = reader.limit;
    reader.limit = end;
    let name = '';
    let value = '';
    while (reader.next()) {
      if (reader.field === 1) name = reader.text(MAXIMUM_TEXT_BYTES);
      else if (reader.field === 2) value = reader.text(MAXIMUM_TEXT_BYTES);
      else reader.skip();
    }
    reader.limit = limit;
    agreements.push({ name, value });
    return agreements;
  },
};

function checkLength(length: number, maximum: number): void {
  if (length > maximum) throw new FrameError(`a list has more than ${maximum} entries`);
}
