/**
 * Keys that collide, for every seed, under hashes made of xor, multiplication and rotation: flipping the top bit of one
 * word and the bit it is rotated to in the next cancels out. `pairs` of words give 2^pairs keys.
 */
export function flippedKeys(pairs: number, rotation: number): Uint8Array[] {
  return Array.from({ length: 2 ** pairs }, (_, choice) => {
    const words = new Uint32Array(pairs * 2).fill(0x41414141);
    for (let pair = 0; pair < pairs; pair++) {
      if (((choice >> pair) & 1) === 0) continue;
      words[pair * 2] ^= 0x80000000;
      words[pair * 2 + 1] ^= 1 << (rotation - 1);
    }
    return new Uint8Array(words.buffer);
  });
}

/** The local hash that the store had until November 2026, seeded and not resistant: attacks must work on it. */
export function seededXorMultiplyRotate(seed: number, key: Uint8Array): number {
  let hash = seed;
  const padded = new Uint8Array((key.length + 3) & ~3);
  padded.set(key);
  for (const word of new Int32Array(padded.buffer)) {
    const mixed = Math.imul(hash ^ word, 0x1b873593);
    hash = (mixed << 13) | (mixed >>> 19);
  }
  hash ^= key.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
