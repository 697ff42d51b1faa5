import { expect, test } from 'vitest';
import { withKey } from '../testing/single-key.js';
import { Engine } from './engine.js';

function add(engine: Engine, key: string): void {
  withKey(engine, key, () => engine.add(0, 1));
}

test.each([
  ['shared by threads', true],
  ['of one thread', false],
])('two changes under one lock are a transaction, in a store %s; fewer are none', (_, shared) => {
  const engine = Engine.format({ maxMemoryBytes: 0, shared, origin: new Uint8Array(32), nowMs: 1 });
  const counted = (work: () => void): number => {
    const before = engine.transactions;
    work();
    return engine.transactions - before;
  };
  const locked = (...keys: string[]): void => {
    engine.lockAll();
    for (const key of keys) add(engine, key);
    engine.unlock();
  };
  expect(counted(() => locked('a', 'b'))).toBe(1);
  expect(counted(() => locked('a'))).toBe(0);
  expect(counted(() => locked())).toBe(0);
  const apart = (): void => {
    add(engine, 'a');
    add(engine, 'b');
  };
  expect(counted(apart)).toBe(0);
  // Nested locks are one transaction, which ends with the outermost.
  expect(
    counted(() => {
      engine.lockAll();
      locked('a', 'b');
      expect(counted(() => locked('c'))).toBe(0);
      engine.unlock();
    }),
  ).toBe(1);
});
