import { freemem } from 'node:os';
import { expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { START_MS } from '../testing/nodes.js';
import { ByteInput } from './byte-input.js';

const GIBIBYTE = 2 ** 30;
const MEMORY_BYTES = 10 * GIBIBYTE;
const FILLED_BYTES = 9.5 * GIBIBYTE;
const LONGEST_KEY_BYTES = 2000;
/** Keys begin with this number and the next ones: none is of a reserved name. */
const FIRST_KEY = 0x41000000;

/** Keys of 16 to 2,000 bytes, each with its own value, until the store is past 9.5 GiB: none is lost or mixed up. */
test.skipIf(freemem() < MEMORY_BYTES * 1.1)(
  'a store of 10 GiB is filled with real keys, and each has its own value',
  () => {
    const engine = Engine.format({ maxMemoryBytes: MEMORY_BYTES, origin: new Uint8Array(32), nowMs: START_MS });
    const input = ByteInput.copyOf(new Uint8Array(LONGEST_KEY_BYTES).fill(0x78));
    const lengthOf = (index: number) =>
      16 + (index % 31 === 0 ? index % 100 : 700 + (index % (LONGEST_KEY_BYTES - 716)));
    const open = (index: number) => {
      input.view.setUint32(0, FIRST_KEY + index);
      engine.open(input, 0, lengthOf(index));
    };
    let count = 0;
    for (; count % 1000 !== 0 || engine.stats().usedBytes < FILLED_BYTES; count++) {
      open(count);
      engine.add(0, count + 1);
      engine.close();
    }
    expect(engine.keyCount()).toBe(count);
    let wrong = 0;
    for (let index = 0; index < count; index++) {
      open(index);
      if (engine.valueLow !== index + 1 || engine.valueHigh !== 0) wrong++;
      engine.close();
    }
    expect(wrong).toBe(0);
    for (let index = 0; index < count; index += 2) {
      open(index);
      engine.remove();
      engine.close();
    }
    expect(engine.keyCount()).toBe(Math.floor(count / 2));
    expect(engine.stats().longestBucket).toBeLessThan(60);
  },
  600_000,
);
