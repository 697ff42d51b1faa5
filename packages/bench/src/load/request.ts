/**
 * The requests of a workload, in RESP, encoded once before the run.
 *
 * A request is the commands that together make one operation (MULTI, INCR, EXPIRE, EXEC is one operation of four
 * commands). A burst is the requests that one write sends: as many as the pipeline is deep. Every key has the same
 * length, so encoding is done once, and before each send only the digits of the keys are written into the bytes.
 *
 *   key, 42 bytes:   bench:counter:000000000000000:000000001234
 *                    |----------- prefix ---------||-- digits -|   12, as those of redis-benchmark's __rand_int__
 */
export type Command = readonly string[];
export type Request = readonly Command[];

/** Stands for the next key of the workload. */
export const KEY = '{key}';
/** Stands for the key before it, again. */
export const SAME_KEY = '{same key}';

export const INCREMENT: Request = [['INCR', KEY]];

export const KEY_PREFIX = 'bench:counter:000000000000000:';
const KEY_DIGITS = 12;
export const KEY_BYTES = KEY_PREFIX.length + KEY_DIGITS;

/** Only the last eight digits are ever written; the first four stay zero. */
const WRITTEN_DIGITS = 8;
export const MAX_KEYS = 10 ** WRITTEN_DIGITS;
/** Where they start in a key. */
export const DIGITS_OFFSET = KEY_BYTES - WRITTEN_DIGITS;

export interface Burst {
  readonly bytes: Buffer;
  /** Where the written digits of each key start. */
  readonly digitOffsets: Int32Array;
  /** 1 where a key is the one before it again. */
  readonly repeatsKey: Uint8Array;
  readonly operations: number;
  readonly replies: number;
}

/** The bursts to send in turn so that the pattern of requests goes on unbroken from one burst to the next. */
export function encodeBursts(pattern: readonly Request[], pipeline: number): Burst[] {
  const count = pattern.length / greatestCommonDivisor(pattern.length, pipeline);
  return Array.from({ length: count }, (_, index) => {
    const requests = Array.from(
      { length: pipeline },
      (_, slot) => pattern[(index * pipeline + slot) % pattern.length]!,
    );
    return encodeBurst(requests);
  });
}

export function encodeBurst(requests: readonly Request[]): Burst {
  const digitOffsets: number[] = [];
  const repeatsKey: number[] = [];
  let text = '';
  let replies = 0;
  for (const command of requests.flat()) {
    replies++;
    text += `*${command.length}\r\n`;
    for (const argument of command) {
      const isKey = argument === KEY || argument === SAME_KEY;
      const content = isKey ? keyText(0) : argument;
      text += `$${Buffer.byteLength(content)}\r\n${content}`;
      if (isKey) {
        digitOffsets.push(Buffer.byteLength(text) - WRITTEN_DIGITS);
        repeatsKey.push(argument === SAME_KEY ? 1 : 0);
      }
      text += '\r\n';
    }
  }
  return {
    bytes: Buffer.from(text),
    digitOffsets: Int32Array.from(digitOffsets),
    repeatsKey: Uint8Array.from(repeatsKey),
    operations: requests.length,
    replies,
  };
}

export function keyText(key: number): string {
  return KEY_PREFIX + String(key).padStart(KEY_DIGITS, '0');
}

/** The four digits of every number below 10,000, so that a key is written with two look-ups. */
const FOUR_DIGITS = Buffer.from(Array.from({ length: 10_000 }, (_, index) => String(index).padStart(4, '0')).join(''));

/** Writes the next keys into a burst before it is sent. */
export function writeKeys(burst: Burst, nextKey: () => number): void {
  const { bytes, digitOffsets, repeatsKey } = burst;
  let key = 0;
  for (let index = 0; index < digitOffsets.length; index++) {
    if (repeatsKey[index] === 0) key = nextKey();
    writeDigits(bytes, digitOffsets[index]!, key);
  }
}

export function writeDigits(bytes: Uint8Array, offset: number, key: number): void {
  const upper = Math.floor(key / 10_000);
  const upperAt = upper * 4;
  const lowerAt = (key - upper * 10_000) * 4;
  for (let index = 0; index < 4; index++) {
    bytes[offset + index] = FOUR_DIGITS[upperAt + index]!;
    bytes[offset + 4 + index] = FOUR_DIGITS[lowerAt + index]!;
  }
}

/** Gives a burst its own bytes; each connection writes keys into the bursts it sends. */
export function copyBurst(burst: Burst): Burst {
  return { ...burst, bytes: Buffer.from(burst.bytes) };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
