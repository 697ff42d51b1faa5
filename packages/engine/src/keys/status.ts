/** The outcome of a change to a key. Small integers, so that the hot path neither throws nor allocates. */
export const Status = {
  Ok: 0,
  /** The value, or one of its two sums, would leave 64 bits. Nothing has changed. */
  Overflow: 1,
  /** No room for a new key under the memory ceiling. Existing keys go on counting. */
  OutOfMemory: 2,
  /** The key lies in a namespace that only grows, and the change would shrink it. */
  GrowOnly: 3,
  KeyTooLong: 4,
  /** The key is reserved (reserved.ts). */
  Reserved: 5,
} as const;

export type Status = (typeof Status)[keyof typeof Status];
