/**
 * HalfSipHash as its paper's reference has it: bytes, whole numbers without a sign, a loop for every round. Slow and
 * plain, to compare the engine's own with. `key` is 8 bytes, or 16 where each word of the state has secret bits of its
 * own.
 */
export function halfSipHash(key: Uint8Array, message: Uint8Array, compressing: number, finishing: number): number {
  const secret = key.length === 8 ? new Uint8Array([...key, ...key]) : key;
  const state = [0, 0, 0x6c796765, 0x74656462].map((constant, index) => BigInt(wordAt(secret, index * 4) ^ constant));
  for (let at = 0; at < 4; at++) state[at] = BigInt.asUintN(32, state[at]);
  const compress = (word: bigint) => {
    state[3] ^= word;
    for (let round = 0; round < compressing; round++) sipRound(state);
    state[0] ^= word;
  };
  let at = 0;
  for (; at + 4 <= message.length; at += 4) compress(BigInt.asUintN(32, BigInt(wordAt(message, at))));
  const last = new Uint8Array(4);
  last.set(message.subarray(at));
  last[3] = message.length % 256;
  compress(BigInt.asUintN(32, BigInt(wordAt(last, 0))));
  state[2] ^= 0xffn;
  for (let round = 0; round < finishing; round++) sipRound(state);
  return Number(BigInt.asIntN(32, state[1] ^ state[3]));
}

function sipRound(v: bigint[]): void {
  v[0] = add(v[0], v[1]);
  v[1] = rotate(v[1], 5n) ^ v[0];
  v[0] = rotate(v[0], 16n);
  v[2] = add(v[2], v[3]);
  v[3] = rotate(v[3], 8n) ^ v[2];
  v[0] = add(v[0], v[3]);
  v[3] = rotate(v[3], 7n) ^ v[0];
  v[2] = add(v[2], v[1]);
  v[1] = rotate(v[1], 13n) ^ v[2];
  v[2] = rotate(v[2], 16n);
}

function add(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(32, a + b);
}

function rotate(word: bigint, bits: bigint): bigint {
  return BigInt.asUintN(32, word << bits) | (word >> (32n - bits));
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}
