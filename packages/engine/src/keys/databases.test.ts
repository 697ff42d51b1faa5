import { expect, test } from 'vitest';
import { databaseOf, databasePrefix } from '../components/reserved.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { START_MS } from '../testing/nodes.js';
import { add, assign, expireAt, remove } from '../testing/single-key.js';
import { Engine } from './engine.js';

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    shardCount: 2,
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
}

const key = (database: number, name: string) => `${Buffer.from(databasePrefix(database)).toString('latin1')}${name}`;

test('keys are counted by database, also when they expire, are deleted or all removed', () => {
  const engine = makeEngine();
  for (const database of [0, 1, 5]) for (const name of ['a', 'b', 'c', '']) add(engine, key(database, name), 1n);
  expect([0, 1, 2, 5].map((database) => engine.databaseStats(database).keys)).toEqual([4, 4, 0, 4]);
  remove(engine, key(1, 'a'));
  expireAt(engine, key(1, 'b'), START_MS + 10);
  expireAt(engine, key(5, 'b'), START_MS + 10_000);
  expect(engine.databaseStats(1)).toEqual({ keys: 3, keysWithExpiry: 1 });
  engine.advanceTo(START_MS + 1000);
  engine.expireSome(1000);
  expect(engine.databaseStats(1)).toEqual({ keys: 2, keysWithExpiry: 0 });
  expect(engine.databaseStats(5)).toEqual({ keys: 4, keysWithExpiry: 1 });
  checkConsistency(engine);
  engine.removeSome((bytes) => databaseOf(bytes, 0, bytes.length) === 5);
  expect([0, 1, 5].map((database) => engine.databaseStats(database).keys)).toEqual([4, 2, 0]);
  checkConsistency(engine);
  engine.removeAll();
  expect([0, 1, 5].map((database) => engine.databaseStats(database).keys)).toEqual([0, 0, 0]);
  checkConsistency(engine);
});

test('a name that only resembles that of a database belongs to database 0', () => {
  const engine = makeEngine();
  for (const name of ['\0QDd', '\0QDr\x01', '\0Qd', 'QDd\x01', '\0QDd\u0080x']) assign(engine, name, 1n);
  expect(engine.databaseStats(0).keys).toBe(5);
  checkConsistency(engine);
});
