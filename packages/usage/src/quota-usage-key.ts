import { ByteInput } from '@quotadb/engine';
import { MAXIMUM_SUBJECT_BYTES, type Policy, windowEndMs, windowStartMs } from '@quotadb/quota';
import { hasKeyHeader, isWindow, KEY_HEADER_BYTES, UsageKind, writeKeyHeader } from './key-header.js';

/**
 * The usage of one subject in one window of one quota.
 *
 *   bytes | key
 *   ------|---------------------------------------------------------------------------------------------
 *   0–20  | see key-header.ts
 *   21–24 | number of the policy
 *   25–32 | window, a double
 *   33–40 | start of the window in milliseconds since 1970, a double
 *   41–48 | its end, ditto
 *   49 …  | the subject
 *
 * All numbers are little-endian.
 */
export interface QuotaWindow {
  readonly policy: number;
  readonly window: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly subject: Uint8Array;
}

const POLICY_AT = KEY_HEADER_BYTES;
const WINDOW_AT = POLICY_AT + 4;
const START_AT = WINDOW_AT + 8;
const END_AT = START_AT + 8;
const SUBJECT_AT = END_AT + 8;

/** A buffer in which one key after another is put together. */
export class QuotaUsageKey {
  readonly input = new ByteInput(new Uint8Array(SUBJECT_AT + MAXIMUM_SUBJECT_BYTES + ByteInput.SLACK_BYTES));
  length = 0;
  private policy = -1;
  private window = Number.NaN;
  endMs = 0;

  constructor(replica: Uint8Array) {
    writeKeyHeader(this.input.bytes, UsageKind.quota, replica);
  }

  /** Most takes are from the policy and window of the one before. */
  set(policy: Policy, window: number, subject: Uint8Array, start: number, length: number): this {
    if (policy.number !== this.policy || window !== this.window) this.begin(policy, window);
    const { bytes } = this.input;
    for (let index = 0; index < length; index++) bytes[SUBJECT_AT + index] = subject[start + index];
    this.length = SUBJECT_AT + length;
    return this;
  }

  private begin(policy: Policy, window: number): void {
    const { view } = this.input;
    this.policy = policy.number;
    this.window = window;
    this.endMs = windowEndMs(policy, window);
    view.setUint32(POLICY_AT, policy.number, true);
    view.setFloat64(WINDOW_AT, window, true);
    view.setFloat64(START_AT, windowStartMs(policy, window), true);
    view.setFloat64(END_AT, this.endMs, true);
  }
}

/**
 * The window that a key is of; undefined for all other keys, for usage of other regions, and for times that are none.
 */
export function readQuotaUsageKey(key: Uint8Array, replica: Uint8Array): QuotaWindow | undefined {
  if (key.length < SUBJECT_AT || !hasKeyHeader(key, UsageKind.quota, replica)) return undefined;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  const startMs = view.getFloat64(START_AT, true);
  const endMs = view.getFloat64(END_AT, true);
  if (!isWindow(startMs, endMs)) return undefined;
  return {
    policy: view.getUint32(POLICY_AT, true),
    window: view.getFloat64(WINDOW_AT, true),
    startMs,
    endMs,
    subject: key.subarray(SUBJECT_AT),
  };
}
