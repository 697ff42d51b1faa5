import { expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { START_MS } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, expireAt, remove } from '../testing/single-key.js';

test('a day of keys of all sizes that come, change, expire and are removed keeps the footprint flat', () => {
  const engine = Engine.format({
    maxMemoryBytes: 64 * 1024 * 1024,
    shardCount: 64,
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
  const random = new Random(7);
  const peaks: number[] = [];
  let nowMs = START_MS;
  for (let generation = 0; generation < 1440; generation++) {
    const size = 8 + random.below(30) * (1 + (generation % 11) ** 2);
    for (let index = 0; index < 2000; index++) {
      const key = `${generation}:${index}:${'x'.repeat(random.below(size))}`;
      add(engine, key, random.chance(0.3) ? -1n : 1n);
      if (random.chance(0.1)) remove(engine, key);
      else expireAt(engine, key, nowMs + 1 + random.below(180_000));
    }
    nowMs += 60_000;
    engine.advanceTo(nowMs);
    engine.expireSome(1_000_000);
    peaks.push(engine.stats().usedBytes);
    if (generation % 100 === 0) checkConsistency(engine);
  }
  const early = Math.max(...peaks.slice(100, 400));
  const late = Math.max(...peaks.slice(1100));
  expect(late).toBeLessThan(early * 1.1);
  engine.advanceTo(nowMs + 3_600_000);
  engine.expireSome(1_000_000);
  expect(engine.stats()).toMatchObject({ keys: 0, keysWithExpiry: 0, removedKeysRetained: 0 });
  checkConsistency(engine);
});
