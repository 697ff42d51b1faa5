import { expect, test } from 'vitest';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { nameOfOrigin } from '../testing/inspect.js';
import { makeNode, START_MS, send } from '../testing/nodes.js';
import { add, assign, expireAt, inputOf, read, remove } from '../testing/single-key.js';
import { type CountedGeneration, countedGenerations } from './counted-generations.js';
import type { Engine } from './engine.js';

const NOTHING_KNOWN = new Map<number, number>();

function livesOf(engine: Engine, key: string, known: ReadonlyMap<number, number> = NOTHING_KNOWN): CountedGeneration[] {
  const { input, length } = inputOf(key);
  return countedGenerations(engine, input, 0, length, known);
}

const amounts = (generations: readonly CountedGeneration[]) =>
  generations.map(({ positive, negative }) => [positive, negative]);

test('every origin is listed with the sums of its increments and decrements, own first', () => {
  const [us, eu] = [makeNode(1), makeNode(2)];
  add(us.engine, 'a', 5n);
  add(us.engine, 'a', -2n);
  add(eu.engine, 'a', 70n);
  send(eu, us);
  const generations = livesOf(us.engine, 'a');
  expect(amounts(generations)).toEqual([
    [5n, 2n],
    [70n, 0n],
  ]);
  const names = generations.map(({ originIndex }) => nameOfOrigin(us.engine.origins.idOf(originIndex)).slice(0, 2));
  expect(names).toEqual(['01', '02']);
});

test('a key that has not changed since lists nothing, and one that has lists the changed components', () => {
  const [us, eu] = [makeNode(1), makeNode(2)];
  expect(livesOf(us.engine, 'a')).toEqual([]);
  add(us.engine, 'a', 1n);
  add(eu.engine, 'a', 1n);
  send(eu, us);
  const known = new Map(livesOf(us.engine, 'a').map(({ originIndex, version }) => [originIndex, version]));
  expect(livesOf(us.engine, 'a', known)).toEqual([]);
  add(eu.engine, 'a', 4n);
  send(eu, us);
  expect(livesOf(us.engine, 'a', known)).toMatchObject([{ originIndex: 1, positive: 5n }]);
});

test('what begins after a reset is a later generation, and a key that is gone has none', () => {
  const { engine } = makeNode(1);
  add(engine, 'a', 7n);
  const [first] = livesOf(engine, 'a');
  remove(engine, 'a');
  expect(livesOf(engine, 'a')).toEqual([]);
  add(engine, 'a', 2n);
  const [second] = livesOf(engine, 'a');
  assign(engine, 'a', -3n);
  const [third] = livesOf(engine, 'a');
  expect(amounts([first!, second!, third!])).toEqual([
    [7n, 0n],
    [2n, 0n],
    [0n, 3n],
  ]);
  expect(second!.born).toBeGreaterThan(first!.born);
  expect(third!.born).toBeGreaterThan(second!.born);
});

test('what others have reset was counted all the same', () => {
  const [us, eu] = [makeNode(1), makeNode(2)];
  add(eu.engine, 'a', 9n);
  send(eu, us);
  remove(us.engine, 'a');
  expect(read(us.engine, 'a').exists).toBe(false);
  expect(livesOf(us.engine, 'a')).toMatchObject([{ originIndex: 1, positive: 9n }]);
});

test('looking changes nothing', () => {
  const [us, eu] = [makeNode(1), makeNode(2)];
  add(us.engine, 'a', 1n);
  expireAt(eu.engine, 'a', START_MS + 1_000);
  add(eu.engine, 'a', 2n);
  send(eu, us);
  const before = {
    digest: us.engine.digestOf(0, OWN_ORIGIN),
    seen: us.engine.seen(0, OWN_ORIGIN),
    a: read(us.engine, 'a'),
  };
  livesOf(us.engine, 'a');
  livesOf(us.engine, 'absent');
  expect({
    digest: us.engine.digestOf(0, OWN_ORIGIN),
    seen: us.engine.seen(0, OWN_ORIGIN),
    a: read(us.engine, 'a'),
  }).toEqual(before);
  checkConsistency(us.engine);
});
