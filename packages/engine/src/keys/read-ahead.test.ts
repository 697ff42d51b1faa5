import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteInput } from '../memory/byte-input.js';
import { ORIGIN_ID_BYTES } from '../memory/layout.js';
import { Engine } from './engine.js';
import { ReadAhead } from './read-ahead.js';

const KEY_BYTES = 6;

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 8 * 1024 * 1024,
    shardCount: 4,
    origin: new Uint8Array(ORIGIN_ID_BYTES).fill(1),
    nowMs: Date.UTC(2026, 10, 19),
  });
}

/** The keys with these numbers, one behind the other. */
function inputOf(numbers: readonly number[]): ByteInput {
  return ByteInput.copyOf(Buffer.from(numbers.map((number) => `key:${String(number).padStart(2, '0')}`).join('')));
}

test('keys that were read ahead are what they are when they are opened, changed or not since', () => {
  const engine = makeEngine();
  const values = new Map<number, number>();
  const keys = fc.array(fc.nat({ max: 40 }), { maxLength: ReadAhead.MAXIMUM_KEYS });
  const step = fc.record({ keys, deletes: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }) });
  fc.assert(
    fc.property(step, (batch) => {
      const input = inputOf(batch.keys);
      engine.ahead.clear();
      const numbers = batch.keys.map((_, index) => engine.ahead.add(input, index * KEY_BYTES, KEY_BYTES));
      engine.ahead.read();
      for (const [index, key] of batch.keys.entries()) {
        engine.ahead.expect(numbers[index]);
        expect(engine.open(input, index * KEY_BYTES, KEY_BYTES)).toBe(values.has(key));
        if (batch.deletes[index]) engine.remove();
        else engine.add(0, 1);
        const { exists, valueLow } = engine;
        engine.close();
        if (batch.deletes[index]) values.delete(key);
        else values.set(key, (values.get(key) ?? 0) + 1);
        expect(exists ? valueLow : undefined).toBe(values.get(key));
      }
      expect(engine.keyCount()).toBe(values.size);
    }),
    { numRuns: 300 },
  );
});

test('a hash that was made ahead is taken for its own key only, and not once the keys are forgotten', () => {
  const engine = makeEngine();
  const input = inputOf([1, 2, 3]);
  for (const index of [0, 1, 2]) engine.ahead.add(input, index * KEY_BYTES, KEY_BYTES);
  engine.ahead.expect(1);
  expect(engine.ahead.shardOf(input, KEY_BYTES, KEY_BYTES)).toBeGreaterThan(0);
  expect(engine.ahead.shardOf(input, 0, KEY_BYTES)).toBe(0);
  expect(engine.ahead.shardOf(input, KEY_BYTES, KEY_BYTES - 1)).toBe(0);
  expect(engine.ahead.shardOf(inputOf([1, 2, 3]), KEY_BYTES, KEY_BYTES)).toBe(0);
  engine.ahead.expect(-1);
  expect(engine.ahead.shardOf(input, KEY_BYTES, KEY_BYTES)).toBe(0);
  engine.ahead.expect(1);
  engine.ahead.clear();
  expect(engine.ahead.shardOf(input, KEY_BYTES, KEY_BYTES)).toBe(0);
});

test('a small store is not read ahead, a large one is', () => {
  const engine = makeEngine();
  expect(engine.ahead.isUseful).toBe(false);
  engine.ahead.usefulFromBytes = 256 * 1024;
  const input = ByteInput.copyOf(Buffer.alloc(KEY_BYTES));
  for (let number = 0; number < 10_000; number++) {
    input.bytes.set(Buffer.from(String(number).padStart(KEY_BYTES, '0')));
    engine.open(input, 0, KEY_BYTES);
    engine.add(0, 1);
    engine.close();
  }
  expect(engine.ahead.isUseful).toBe(true);
});
