/**
 * Links between records: word indexes in a word. All 32 bits count, so a store can have 2^32 words; an Int32Array gives
 * the upper half of them with a sign, and every link is therefore read here. A link is stored by a plain assignment.
 */
export const MAX_STORE_BYTES = 2 ** 32 * 4;

export function linkAt(memory: Int32Array, at: number): number {
  return memory[at] >>> 0;
}
