/**
 * Turns valid input into nearly valid input: the same from the same seed, on every machine. Programs rarely break on
 * pure noise, which the first check refuses, but on valid input with one thing wrong.
 */
export class Mutator {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 up to, and without, the bound. */
  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }

  /** One to four changes, of a kind each. */
  mutate(bytes: Buffer, others: readonly Buffer[]): Buffer {
    let changed: Buffer = Buffer.from(bytes);
    for (let left = 1 + this.below(4); left > 0; left--) changed = this.change(changed, this.pick(others));
    return changed;
  }

  private change(bytes: Buffer, other: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const length = this.below(Math.min(bytes.length - at, LONGEST_PIECE) + 1);
    const before = bytes.subarray(0, at);
    const piece = bytes.subarray(at, at + length);
    const behind = bytes.subarray(at + length);
    switch (this.below(7)) {
      case 0: {
        const flipped = Buffer.from(bytes);
        if (at < bytes.length) flipped[at] ^= 1 << this.below(8);
        return flipped;
      }
      case 1:
        return before;
      case 2:
        return Buffer.concat([before, behind]);
      case 3:
        return Buffer.concat([before, piece, piece, behind]);
      case 4:
        return Buffer.concat([before, Buffer.from(this.pick(INTERESTING), 'latin1'), behind]);
      case 5:
        return Buffer.concat([before, other.subarray(this.below(other.length + 1))]);
      default:
        return Buffer.concat([before, Buffer.alloc(this.below(LONGEST_PIECE), this.below(256)), behind]);
    }
  }
}

const LONGEST_PIECE = 512;

/** Ends of ranges, ends of lines, and what means something to one parser or another. */
const INTERESTING = [
  ...['0', '-1', '-0', '1', '2147483647', '2147483648', '4294967296', '9007199254740993', '9223372036854775807'],
  ...['9223372036854775808', '-9223372036854775808', '1e400', 'NaN', '99999999999999999999', '+1', ' 1', '0x10'],
  ...[
    '\r\n',
    '\n',
    '\r',
    '\0',
    '\xff',
    '\xc0\x80',
    '"',
    "'",
    '\\',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '*',
    '$',
    '%',
    '\t',
    ' ',
  ],
  ...[
    '*1000000\r\n',
    '$536870912\r\n',
    '$-1\r\n',
    '*-1\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: -1\r\n',
  ],
  ...['__proto__', 'constructor', 'null', 'true', '{}', '[]', '..', '/', 'A'.repeat(300)],
] as const;
