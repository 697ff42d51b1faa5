/**
 * Bytes in the memory of the store, read from its words: a view of bytes cannot be longer than 4 GiB on Node 20, and
 * one of words can be four times that.
 */
export function copyBytes(memory: Int32Array, at: number, length: number, target: Uint8Array, start: number): void {
  const whole = length & ~3;
  let from = at;
  for (let done = 0; done < whole; done += 4, from++) {
    const word = memory[from];
    target[start + done] = word;
    target[start + done + 1] = word >>> 8;
    target[start + done + 2] = word >>> 16;
    target[start + done + 3] = word >>> 24;
  }
  for (let done = whole; done < length; done++) target[start + done] = memory[from] >>> ((done & 3) << 3);
}

/** A copy of `length` bytes from this word on. */
export function bytesAt(memory: Int32Array, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  copyBytes(memory, at, length, bytes, 0);
  return bytes;
}
