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
 *         | 'a' admitted: each origin's component is the tokens beyond the limit that it has admitted alone
 *         | 'i' above 0 where the allotment came with its slot from another group, see moved-allotments.ts
 *         | 's' above 0 where one origin is the starter of an allotment that came so
 *   5–8   | number of the policy
 *   9–16  | window, a double
 *   17 …  | 'm', 'a' and 'i': the subject. 'g' and 's': the 32 bytes of the origin, then the subject
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
const ADMITTED = 0x61;
const MOVED = 0x69;
const STARTER = 0x73;

/** A buffer in which one key after another is put together. */
export class AllotmentKey {
  /** The place of the subject in a key of marks. */
  static readonly SUBJECT_AT = HEADER_BYTES;
  /** The bytes before the subject that can be hashed ahead of it: whole words. */
  static readonly PREFIX_BYTES = HEADER_BYTES & ~3;
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

  admittedOf({ policy, window, subject }: Allotment): this {
    this.begin(ADMITTED, policy, window);
    return this.end(HEADER_BYTES, subject, 0, subject.length);
  }

  movedOf({ policy, window, subject }: Allotment): this {
    this.begin(MOVED, policy, window);
    return this.end(HEADER_BYTES, subject, 0, subject.length);
  }

  movedTo(allotment: Allotment, origin: Uint8Array): this {
    return this.ofOrigin(STARTER, allotment, origin);
  }

  grantsTo(allotment: Allotment, origin: Uint8Array): this {
    return this.ofOrigin(GRANTS, allotment, origin);
  }

  private ofOrigin(kind: number, { policy, window, subject }: Allotment, origin: Uint8Array): this {
    this.begin(kind, policy, window);
    this.input.bytes.set(origin, HEADER_BYTES);
    return this.end(HEADER_BYTES + ORIGIN_ID_BYTES, subject, 0, subject.length);
  }

  /** Of a key of marks. */
  get subjectLength(): number {
    return this.length - HEADER_BYTES;
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

/** The origin that grants of this policy are to, of a key that holds such grants. */
export function granteeOf(key: Uint8Array, policy: number): Uint8Array | undefined {
  if (key.length < HEADER_BYTES + ORIGIN_ID_BYTES || key[KIND_AT] !== GRANTS) return undefined;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  if (view.getUint32(POLICY_AT, true) !== policy) return undefined;
  return key.slice(HEADER_BYTES, HEADER_BYTES + ORIGIN_ID_BYTES);
}

/** The subject of a key of an allotment, of whatever policy; undefined for other keys. */
export function subjectOfAllotment(key: Uint8Array): Uint8Array | undefined {
  const kind = key[KIND_AT];
  if (![MARKS, ADMITTED, MOVED, GRANTS, STARTER].includes(kind)) return undefined;
  return key.subarray(HEADER_BYTES + (kind === GRANTS || kind === STARTER ? ORIGIN_ID_BYTES : 0));
}

/** The allotment that a key is of; undefined for other keys. */
export function allotmentOf(key: Uint8Array): Allotment | undefined {
  const subject = subjectOfAllotment(key);
  if (subject === undefined || key.length < HEADER_BYTES) return undefined;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  return { policy: view.getUint32(POLICY_AT, true), window: view.getFloat64(WINDOW_AT, true), subject };
}

/** The subject of a key that holds the marks of this policy and window. */
export function subjectOfMarks(key: Uint8Array, policy: number, window: number): Uint8Array | undefined {
  if (key.length < HEADER_BYTES || key[KIND_AT] !== MARKS) return undefined;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  const isMeant = view.getUint32(POLICY_AT, true) === policy && view.getFloat64(WINDOW_AT, true) === window;
  return isMeant ? key.slice(HEADER_BYTES) : undefined;
}

export function nameOfAllotment({ policy, window, subject }: Allotment): string {
  return `${policy}:${window}:${Buffer.from(subject.buffer, subject.byteOffset, subject.length).toString('latin1')}`;
}
