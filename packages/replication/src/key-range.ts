import { type Batch, ByteInput, sharedHashOf } from '@quotadb/engine';

/** Components in a range, about: an inventory of one is a few kilobytes. */
const COMPONENTS_PER_RANGE = 128;
const MAXIMUM_RANGES = 4096;

/** A power of two. */
export function rangeCountFor(components: number): number {
  let count = 1;
  while (count < MAXIMUM_RANGES && count * COMPONENTS_PER_RANGE < components) count *= 2;
  return count;
}

/**
 * The range in which the key of a component lies: the lowest bits of the hash that all replicas share. Its highest bits
 * choose the shard.
 */
export class RangeFinder {
  private input = new ByteInput(new Uint8Array(ByteInput.SLACK_BYTES));

  rangeOf(batch: Batch, index: number, rangeCount: number): number {
    const start = batch.keyStart(index);
    return this.range(batch.keyBytes, start, batch.keyEnd[index] - start, rangeCount);
  }

  private range(bytes: Uint8Array, start: number, length: number, rangeCount: number): number {
    if (this.input.bytes.length < length + ByteInput.SLACK_BYTES)
      this.input = new ByteInput(new Uint8Array(length * 2 + ByteInput.SLACK_BYTES));
    this.input.bytes.set(bytes.subarray(start, start + length));
    return sharedHashOf(this.input, 0, length) & (rangeCount - 1);
  }
}

/** A checksum of a component's content; a range's digest is their sum. */
export function contentOf(batch: Batch, index: number): number {
  let mixed = 0x51ed270b;
  const absorb = (word: number) => {
    mixed = Math.imul(mixed ^ word, 0x85ebca6b);
    mixed = (mixed << 13) | (mixed >>> 19);
  };
  for (let at = batch.keyStart(index); at < batch.keyEnd[index]; at++) absorb(batch.keyBytes[at]);
  for (const number of [batch.version[index], batch.born[index], batch.floorMs[index]]) {
    absorb(number | 0);
    absorb(Math.floor(number / 2 ** 32));
  }
  absorb(batch.present[index]);
  absorb(batch.positiveLow[index]);
  absorb(batch.positiveHigh[index]);
  absorb(batch.negativeLow[index]);
  absorb(batch.negativeHigh[index]);
  absorb(batch.cancelEnd[index] - batch.cancelStart(index));
  if (batch.present[index] === 1 && batch.decided[index] !== 0) {
    for (const number of [batch.expiresAtMs[index], batch.decided[index]]) {
      absorb(number | 0);
      absorb(Math.floor(number / 2 ** 32));
    }
  }
  return mixed;
}
