import { Batch } from '@quotadb/engine';
import { readBatch } from './batch-decoder.js';
import { writeBatch } from './batch-encoder.js';
import { type Frame, FrameError, FrameKind, MAXIMUM_FRAME_BYTES } from './frames.js';
import { isSmallKind, readMessage, writeMessage } from './messages.js';
import { ProtoReader } from './proto-reader.js';
import { ProtoWriter } from './proto-writer.js';

/** Encoding is never interrupted, so one writer serves all; callers get a copy. */
const writer = new ProtoWriter();
/**
 * Copies are cut from one buffer: one buffer a frame, for thousands a second, would keep the garbage collector busy.
 */
const ARENA_BYTES = 256 * 1024;
const LARGEST_CUT_BYTES = ARENA_BYTES / 8;
let arena = new Uint8Array(0);
let arenaUsed = 0;

/** The bytes of a frame; they belong to the caller. Throws FrameError for values that a frame cannot hold. */
export function encodeFrame(frame: Frame): Uint8Array {
  if (frame.kind === FrameKind.batch) return encodeBatch(frame.batch);
  writer.length = 0;
  const message = writer.begin(frame.kind);
  writeMessage(writer, frame);
  writer.end(message);
  return written();
}

export function encodeBatch(batch: Batch): Uint8Array {
  writer.length = 0;
  const message = writer.begin(FrameKind.batch);
  writeBatch(writer, batch);
  writer.end(message);
  return written();
}

function written(): Uint8Array {
  if (writer.length > MAXIMUM_FRAME_BYTES) throw new FrameError(`a frame of ${writer.length} bytes is too long`);
  if (writer.length > LARGEST_CUT_BYTES) return writer.bytes.slice(0, writer.length);
  if (arenaUsed + writer.length > arena.length) {
    arena = new Uint8Array(ARENA_BYTES);
    arenaUsed = 0;
  }
  const bytes = arena.subarray(arenaUsed, arenaUsed + writer.length);
  bytes.set(writer.bytes.subarray(0, writer.length));
  arenaUsed += writer.length;
  return bytes;
}

/**
 * Decodes one frame; a batch is put into `into`, if given, which is empty after an error. Nothing in the frame refers
 * to the bytes. Throws FrameError for bytes that are no frame.
 */
export function decodeFrame(bytes: Uint8Array, into?: Batch): Frame {
  if (bytes.length > MAXIMUM_FRAME_BYTES) throw new FrameError(`a frame of ${bytes.length} bytes is too long`);
  const reader = new ProtoReader(bytes);
  let frame: Frame | undefined;
  while (reader.next()) {
    const kind = reader.field;
    if (kind !== FrameKind.batch && !isSmallKind(kind)) {
      reader.skip();
      continue;
    }
    if (frame !== undefined) throw new FrameError('a frame holds two messages instead of one');
    reader.limit = reader.lengthDelimited();
    frame = kind === FrameKind.batch ? batchFrame(reader, into ?? new Batch()) : readMessage(reader, kind);
    reader.limit = bytes.length;
  }
  if (frame === undefined) throw new FrameError('a frame of an unknown kind');
  return frame;
}

function batchFrame(reader: ProtoReader, batch: Batch): Frame {
  try {
    readBatch(reader, batch);
  } catch (error) {
    batch.clear();
    throw error;
  }
  return { kind: FrameKind.batch, batch };
}
