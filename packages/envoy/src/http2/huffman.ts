/**
 * The Huffman code of header fields (RFC 7541, appendix B). It is canonical, so the length of each symbol's code says
 * all: codes are given out by length, then by symbol. A length is one digit of base 36; the last symbol is the end of a
 * string, which is never sent.
 */
const LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq' +
  'u';

const LONGEST_CODE = 30;
const END_OF_STRING = 256;
const LONGEST_PADDING_BITS = 7;

/** A binary tree: two numbers for each inner node, the next node for a bit of 0 and of 1, or ~symbol for a leaf. */
const tree: Int16Array = growTree();

function growTree(): Int16Array {
  const nodes = new Int16Array(2 * LENGTHS.length);
  let nodeCount = 1;
  let code = 0;
  for (let length = 1; length <= LONGEST_CODE; length++) {
    code *= 2;
    for (let symbol = 0; symbol < LENGTHS.length; symbol++) {
      if (Number.parseInt(LENGTHS[symbol], 36) !== length) continue;
      let node = 0;
      for (let bit = length - 1; bit > 0; bit--) {
        const at = 2 * node + ((code >>> bit) & 1);
        if (nodes[at] === 0) nodes[at] = nodeCount++;
        node = nodes[at];
      }
      nodes[2 * node + (code & 1)] = ~symbol;
      code++;
    }
  }
  return nodes;
}

/** The text, as latin1; undefined for bytes that no encoder makes. A text has at most 8/5 of the bytes of its code. */
export function decodeHuffman(bytes: Uint8Array, from: number, end: number): string | undefined {
  const text = Buffer.allocUnsafe(Math.ceil(((end - from) * 8) / 5));
  let length = 0;
  let node = 0;
  let paddingBits = 0;
  let isPadding = true;
  for (let at = from; at < end; at++) {
    const byte = bytes[at];
    for (let shift = 7; shift >= 0; shift--) {
      const bit = (byte >>> shift) & 1;
      const next = tree[2 * node + bit];
      paddingBits++;
      if (bit === 0) isPadding = false;
      if (next >= 0) node = next;
      else if (~next === END_OF_STRING) return undefined;
      else {
        text[length++] = ~next;
        node = 0;
        paddingBits = 0;
        isPadding = true;
      }
    }
  }
  return isPadding && paddingBits <= LONGEST_PADDING_BITS ? text.toString('latin1', 0, length) : undefined;
}
