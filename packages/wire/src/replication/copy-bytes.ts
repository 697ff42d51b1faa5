/** Up to so many bytes a loop is faster than asking for a copy. */
const SHORT_BYTES = 128;

/** Copies bytes `start` to `end` to place `at`; also inside one array, downwards. */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start > SHORT_BYTES) to.set(from.subarray(start, end), at);
  else for (let index = start; index < end; index++) to[at + index - start] = from[index];
}
