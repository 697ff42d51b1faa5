import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { START_MS } from '../testing/nodes.js';
import { HeaderNumber } from './layout.js';

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    shared: true,
    shardCount: 1,
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
}

describe('time in a node', () => {
  test('never runs backwards, whatever the machine says', () => {
    const engine = makeEngine();
    engine.advanceTo(START_MS + 10);
    for (const nowMs of [START_MS, 0, -1, Number.NEGATIVE_INFINITY, Number.NaN]) engine.advanceTo(nowMs);
    expect(engine.nowMs).toBe(START_MS + 10);
  });

  test('is the latest that any thread was given', () => {
    const engine = makeEngine();
    const other = Engine.attach(engine.buffer);
    engine.advanceTo(START_MS + 10);
    other.advanceTo(START_MS + 5);
    expect(other.nowMs).toBe(START_MS + 10);
  });

  test('does not run backwards when another thread, a little late, writes an earlier time over ours', () => {
    const engine = makeEngine();
    engine.advanceTo(START_MS + 10);
    // Two threads read the same time; the one that was given the earlier time writes last.
    engine.store.numbers[HeaderNumber.clock] = START_MS + 5;
    engine.advanceTo(START_MS + 4);
    expect(engine.nowMs).toBe(START_MS + 10);
  });

  test('is kept in whole milliseconds', () => {
    const engine = makeEngine();
    engine.advanceTo(START_MS + 1.9);
    expect(engine.nowMs).toBe(START_MS + 1);
  });
});
