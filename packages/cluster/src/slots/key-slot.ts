/**
 * The slot of a key, as Redis Cluster has it: CRC16 (XMODEM: polynomial 0x1021, initial value 0) of the key modulo
 * 16,384. Where the key has a hash tag, the first `{` with a `}` behind it and something between the two, only the
 * bytes between them count, so that keys can be put into one slot.
 */
export const SLOT_COUNT = 16_384;

const POLYNOMIAL = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Four tables of 256: what a byte on top of the checksum does to it, with 0 to 3 bytes behind it. So four bytes of a
 * key are one step, whose look-ups do not wait for each other.
 */
const BYTE = 0x100;
const tables = new Uint16Array(4 * BYTE);
for (let byte = 0; byte < BYTE; byte++) {
  let checksum = byte << 8;
  for (let bit = 0; bit < 8; bit++) checksum = (checksum << 1) ^ ((checksum & 0x8000) === 0 ? 0 : POLYNOMIAL);
  tables[byte] = checksum;
}
for (let at = BYTE; at < tables.length; at++) tables[at] = withByte(tables[at - BYTE], 0);

function withByte(checksum: number, byte: number): number {
  return ((checksum << 8) & 0xffff) ^ tables[(checksum >>> 8) ^ byte];
}

/** Of the bytes of a key where they are; allocates nothing. */
export function slotOfKey(bytes: Uint8Array, start: number, length: number): number {
  const end = start + length;
  let checksum = 0;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const first = bytes[at];
    const second = bytes[at + 1];
    const third = bytes[at + 2];
    const fourth = bytes[at + 3];
    if (first === OPEN || second === OPEN || third === OPEN || fourth === OPEN) return slotOfTagged(bytes, start, end);
    checksum =
      tables[3 * BYTE + ((checksum >>> 8) ^ first)] ^
      tables[2 * BYTE + ((checksum & 0xff) ^ second)] ^
      tables[BYTE + third] ^
      tables[fourth];
  }
  for (; at < end; at++) {
    if (bytes[at] === OPEN) return slotOfTagged(bytes, start, end);
    checksum = withByte(checksum, bytes[at]);
  }
  return checksum & (SLOT_COUNT - 1);
}

/** Of a key that has a `{`. */
function slotOfTagged(bytes: Uint8Array, start: number, end: number): number {
  const open = bytes.indexOf(OPEN, start);
  let close = open + 1;
  while (close < end && bytes[close] !== CLOSE) close++;
  const hasTag = close < end && close > open + 1;
  let checksum = 0;
  for (let at = hasTag ? open + 1 : start; at < (hasTag ? close : end); at++) checksum = withByte(checksum, bytes[at]);
  return checksum & (SLOT_COUNT - 1);
}

const encoder = new TextEncoder();

/** For tools and tests. */
export function slotOfText(key: string): number {
  const bytes = encoder.encode(key);
  return slotOfKey(bytes, 0, bytes.length);
}
