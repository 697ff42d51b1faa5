import { ByteInput } from '@quotadb/engine';
import { type LimitWindow, MAXIMUM_SUBJECT_BYTES } from '@quotadb/quota';
import { hasKeyHeader, isWindow, KEY_HEADER_BYTES, UsageKind, writeKeyHeader } from './key-header.js';

/**
 * The usage of one subject in one fixed window of one limit.
 *
 *   bytes  | key
 *   -------|---------------------------------------------------------------------------------------------
 *   0–20   | see key-header.ts
 *   21–28  | start of the window in milliseconds since 1970, a double, little-endian
 *   29–36  | its end, ditto: a limit whose window was changed has other windows, though they begin at the same time
 *   37 …   | the name of the limit, 00, the subject
 *
 * The name is in the key, because a limit has no number, and may be dropped before its last window is exported.
 */
const START_AT = KEY_HEADER_BYTES;
const END_AT = START_AT + 8;
const NAME_AT = END_AT + 8;
/** More than the name of a limit can have; packages/limits holds the bound. */
const MAXIMUM_NAME_BYTES = 512;

/** A buffer in which one key after another is put together. */
export class LimitUsageKey {
  readonly input = new ByteInput(
    new Uint8Array(NAME_AT + MAXIMUM_NAME_BYTES + 1 + MAXIMUM_SUBJECT_BYTES + ByteInput.SLACK_BYTES),
  );
  length = 0;
  endMs = 0;
  private limit = '';
  private subjectAt = NAME_AT + 1;

  constructor(replica: Uint8Array) {
    writeKeyHeader(this.input.bytes, UsageKind.limit, replica);
  }

  set({ limit, startMs, endMs, subject }: LimitWindow): this {
    const { bytes, view } = this.input;
    if (limit !== this.limit) this.begin(limit);
    this.endMs = endMs;
    view.setFloat64(START_AT, startMs, true);
    view.setFloat64(END_AT, endMs, true);
    bytes.set(subject, this.subjectAt);
    this.length = this.subjectAt + subject.length;
    return this;
  }

  /** Most charges are to the limit of the one before. */
  private begin(limit: string): void {
    const name = Buffer.from(limit);
    if (name.length > MAXIMUM_NAME_BYTES) throw new Error(`the name of a limit has ${name.length} bytes`);
    const { bytes } = this.input;
    bytes.set(name, NAME_AT);
    this.subjectAt = NAME_AT + name.length + 1;
    bytes[this.subjectAt - 1] = 0;
    this.limit = limit;
  }
}

/**
 * The window that a key is of; undefined for all other keys, for usage of other regions, and for times that are none.
 */
export function readLimitUsageKey(key: Uint8Array, replica: Uint8Array): LimitWindow | undefined {
  if (key.length <= NAME_AT || !hasKeyHeader(key, UsageKind.limit, replica)) return undefined;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  const startMs = view.getFloat64(START_AT, true);
  const endMs = view.getFloat64(END_AT, true);
  const nameEnd = key.indexOf(0, NAME_AT);
  if (nameEnd === -1 || !isWindow(startMs, endMs)) return undefined;
  return {
    limit: Buffer.from(key.subarray(NAME_AT, nameEnd)).toString(),
    startMs,
    endMs,
    subject: key.subarray(nameEnd + 1),
  };
}
