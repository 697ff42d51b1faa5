import { ByteInput, ORIGIN_ID_BYTES, RESERVED_PREFIX } from '@quotadb/engine';

/**
 * An allotment is one subject's share of one policy in one window. It is kept in ordinary counters under reserved keys,
 * so that they replicate, reach the disk and expire like any other.
 *
 *   bytes | key
 *   ------|---------------------------------------------------------------------------------------------
 *   0–3   | RESERVED_PREFIX
 *   4     | 'm' marks: each origin's component is the tokens it set aside to spend, P, less those it gave back, N
 *         | 'g' grants to one origin: each origin's component is the tokens it has granted to it
 *   5–8   | number of the policy
 *   9–16  | window, a double
 *   17 …  | 'm': the subject. 'g': the 32 bytes of the origin, then the subject
 *
 * All numbers are little-endian.
 */
export interface Allotment {
  readonly policy: number;
  readonly window: number;
  readonly subject: Uint8Array;
}

export const MAXIMUM_SUBJECT_BYTES = 1024;

const KIND_AT = RESERVED_PREFIX.length;
const POLICY_AT = KIND_AT + 1;
const WINDOW_AT = POLICY_AT + 4;
const HEADER_BYTES = WINDOW_AT + 8;
const MARKS = 0x6d;
const GRANTS = 0x67;

/** A buffer in which one key after another is put together. */
export class AllotmentKey {
  readonly input = new ByteInput(
    new Uint8Array(HEADER_BYTES + ORIGIN_ID_BYTES + MAXIMUM_SUBJECT_BYTES + ByteInput.SLACK_BYTES),
  );
  length = 0;

  constructor() {
    this.input.bytes.set(RESERVED_PREFIX);
  }

  marks(policy: number, window: number, subject: Uint8Array, start: number, length: number): this {
    this.begin(MARKS, policy, window);
    return this.end(HEADER_BYTES, subject, start, length);
  }

  /**
   * The same policy and window for a subject in a request, copied a word at a time: the request has slack behind its
   * end.
   */
  sameMarksOf({ view }: ByteInput, start: number, length: number): this {
    const target = this.input.view;
    for (let index = 0; index < length; index += 4)
      target.setInt32(HEADER_BYTES + index, view.getInt32(start + index, true), true);
    this.length = HEADER_BYTES + length;
    return this;
  }

  marksOf(allotment: Allotment): this {
    return this.marks(allotment.policy, allotment.window, allotment.subject, 0, allotment.subject.length);
  }

  grantsTo(allotment: Allotment, origin: Uint8Array): this {
    this.begin(GRANTS, allotment.policy, allotment.window);
    this.input.bytes.set(origin, HEADER_BYTES);
    return this.end(HEADER_BYTES + ORIGIN_ID_BYTES, allotment.subject, 0, allotment.subject.length);
  }

  private begin(kind: number, policy: number, window: number): void {
    const { bytes, view } = this.input;
    bytes[KIND_AT] = kind;
    view.setUint32(POLICY_AT, policy, true);
    view.setFloat64(WINDOW_AT, window, true);
  }

  private end(at: number, subject: Uint8Array, start: number, length: number): this {
    const { bytes } = this.input;
    for (let index = 0; index < length; index++) bytes[at + index] = subject[start + index];
    this.length = at + length;
    return this;
  }
}

export function nameOfAllotment({ policy, window, subject }: Allotment): string {
  return `${policy}:${window}:${Buffer.from(subject.buffer, subject.byteOffset, subject.length).toString('latin1')}`;
}
