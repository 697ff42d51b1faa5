import { FrameError, type ProtoReader, type ProtoWriter } from '@quotadb/wire';

/** A text of a message. Most are short and ASCII, for which a TextDecoder costs more than all else in a request. */
export function readText(reader: ProtoReader, maximumBytes: number): string {
  const end = reader.lengthDelimited();
  const { bytes, position } = reader;
  if (end - position > maximumBytes)
    throw new FrameError(`field ${reader.field} has ${end - position} bytes: at most ${maximumBytes} are accepted`);
  reader.position = end;
  for (let at = position; at < end; at++)
    if (bytes[at] > 127) return decode(reader.field, bytes.subarray(position, end));
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1', position, end);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(field: number, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new FrameError(`field ${field} is not UTF-8`);
  }
}

/** Calls `read` for every field of a message that is a field itself. */
export function readMessage(reader: ProtoReader, read: (field: number) => boolean): void {
  const { limit } = reader;
  reader.limit = reader.lengthDelimited();
  readFields(reader, read);
  reader.limit = limit;
}

/** Calls `read` for every field up to the limit; fields for which it returns false are skipped. */
export function readFields(reader: ProtoReader, read: (field: number) => boolean): void {
  while (reader.next()) if (!read(reader.field)) reader.skip();
}

/** The writer's message so far, as a copy. */
export function takeBytes(writer: ProtoWriter): Buffer {
  return Buffer.from(writer.bytes.subarray(0, writer.length));
}
