/**
 * Keys on their way to another group, one behind the other. All numbers are little-endian.
 *
 *   offset | bytes | content
 *   -------|-------|-------------------------------------------------------------------------------------------
 *   0      | 1     | kind: 1 a key or a cell of a window; 2 a bucket; 3 an allotment
 *   1      | 4     | length of the name
 *   5      | 8     | 1, 2: the value, signed. 3: tokens that are used
 *   13     | 8     | 1, 2: when it expires, in ms since 1970, a double; 0 never. 3: the number of the window, a double
 *   21     | 8     | 3: the start of the window, a double; else 0
 *   29     | 8     | 3: the end of the window, a double; else 0
 *   37     | …     | the name. 1: the key. 2: the key without the node. 3: the length of the policy's name in one byte,
 *          |       | that name, and the subject
 */
export const EntryKind = { key: 1, bucket: 2, allotment: 3 } as const;
export type EntryKind = (typeof EntryKind)[keyof typeof EntryKind];

export interface SlotEntry {
  readonly kind: EntryKind;
  readonly name: Uint8Array;
  readonly value: bigint;
  /** When it expires, or the window. */
  readonly at: number;
  readonly startMs: number;
  readonly endMs: number;
}

const HEADER_BYTES = 37;
/** The longest key. */
const MAXIMUM_NAME_BYTES = 65_536;
/** Of one message: an entry that is longer has one for itself. */
export const MESSAGE_BYTES = 128 * 1024;
const MAXIMUM_MESSAGE_BYTES = MESSAGE_BYTES + HEADER_BYTES + MAXIMUM_NAME_BYTES;

export function writeEntry({ kind, name, value, at, startMs, endMs }: SlotEntry): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + name.length);
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32LE(name.length, 1);
  bytes.writeBigInt64LE(value, 5);
  bytes.writeDoubleLE(at, 13);
  bytes.writeDoubleLE(startMs, 21);
  bytes.writeDoubleLE(endMs, 29);
  bytes.set(name, HEADER_BYTES);
  return bytes;
}

/** The one gate for what another node sends. Throws where it is not in this form. */
export function readEntries(message: Uint8Array): SlotEntry[] {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  if (bytes.length > MAXIMUM_MESSAGE_BYTES) throw new Error(`a message of ${bytes.length} bytes is too long`);
  const entries: SlotEntry[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < HEADER_BYTES) throw new Error('an entry ends in its header');
    const kind = bytes.readUInt8(at) as EntryKind;
    const length = bytes.readUInt32LE(at + 1);
    const end = at + HEADER_BYTES + length;
    if (!Object.values(EntryKind).includes(kind)) throw new Error(`there are no entries of kind ${kind}`);
    if (length === 0 || length > MAXIMUM_NAME_BYTES || end > bytes.length)
      throw new Error(`the name of an entry has ${length} bytes`);
    const entry = {
      kind,
      name: Uint8Array.from(bytes.subarray(at + HEADER_BYTES, end)),
      value: bytes.readBigInt64LE(at + 5),
      at: bytes.readDoubleLE(at + 13),
      startMs: bytes.readDoubleLE(at + 21),
      endMs: bytes.readDoubleLE(at + 29),
    };
    if (!isTimely(entry)) throw new Error('an entry has a time that is none');
    entries.push(entry);
    at = end;
  }
  return entries;
}

function isTimely({ kind, at, startMs, endMs, value }: SlotEntry): boolean {
  if (kind === EntryKind.allotment)
    return Number.isFinite(at) && startMs < endMs && value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER);
  return Number.isSafeInteger(at) && at >= 0;
}
