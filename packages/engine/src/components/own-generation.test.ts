import { expect, test } from 'vitest';
import { ByteInput, Engine, joinInt64, Status, splitInt64 } from '../index.js';

const MAXIMUM = 2n ** 63n - 1n;

function openEngine(): { add(amount: bigint): { status: number; value: bigint } } {
  const engine = Engine.format({ maxMemoryBytes: 2 ** 24, origin: new Uint8Array(32), nowMs: Date.UTC(2026, 0, 1) });
  const key = ByteInput.copyOf(new TextEncoder().encode('key'));
  return {
    add(amount) {
      engine.open(key, 0, 3);
      const status = engine.add(...splitInt64(amount));
      const value = joinInt64(engine.valueHigh, engine.valueLow);
      engine.close();
      return { status, value };
    },
  };
}

test('a counter whose increments and decrements fill 64 bits each goes on as long as its value fits', () => {
  const counter = openEngine();
  for (let round = 0; round < 5; round++) {
    expect(counter.add(MAXIMUM)).toEqual({ status: Status.Ok, value: MAXIMUM });
    expect(counter.add(-MAXIMUM)).toEqual({ status: Status.Ok, value: 0n });
    expect(counter.add(-MAXIMUM)).toEqual({ status: Status.Ok, value: -MAXIMUM });
    expect(counter.add(-2n)).toEqual({ status: Status.Overflow, value: -MAXIMUM });
    expect(counter.add(MAXIMUM)).toEqual({ status: Status.Ok, value: 0n });
  }
  expect(counter.add(2n)).toEqual({ status: Status.Ok, value: 2n });
});
