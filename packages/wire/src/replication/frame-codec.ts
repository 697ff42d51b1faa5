import { Batch } from '@quotadb/engine';
import { readBatch } from './batch-decoder.js';
import { writeBatch } from './batch-encoder.js';
import { FrameArena } from './frame-arena.js';
import { type Frame, FrameError, FrameKind, MAXIMUM_FRAME_BYTES } from './frames.js';
import { isSmallKind, readMessage, writeMessage } from './messages.js';
import { ProtoReader } from './proto-reader.js';
import { ProtoWriter } from './proto-writer.js';

/** Encoding is never interrupted, so one writer serves all; callers get a copy. */
const writer = new ProtoWriter();
/** Of frames that belong to their callers. */
const given = new FrameArena(1);

/** The bytes of a frame; they belong to the caller. Throws FrameError for values that a frame cannot hold. */
export function encodeFrame(frame: Frame): Uint8Array {
  if (frame.kind === FrameKind.batch) return encodeBatch(frame.batch);
  writer.length = 0;
  const message = writer.begin(frame.kind);
  writeMessage(writer, frame);
  writer.end(message);
  return written(given);
}

/** With an arena, the bytes are its own: see FrameArena.reuse. */
export function encodeBatch(batch: Batch, arena: FrameArena = given): Uint8Array {
  writer.length = 0;
  const message = writer.begin(FrameKind.batch);
  writeBatch(writer, batch);
  writer.end(message);
  return written(arena);
}

function written(arena: FrameArena): Uint8Array {
  if (writer.length > MAXIMUM_FRAME_BYTES) throw new FrameError(`a frame of ${writer.length} bytes is too long`);
  return arena.copyOf(writer.bytes, writer.length);
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
