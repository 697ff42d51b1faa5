import { describe, expect, test } from 'vitest';
import { mapOf, readMap } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import { planRebalance } from './rebalance.js';
import { HELD, HERE, slotStates, UNOWNED } from './slot-states.js';
import { dropCopies, goBack, handOver, holdSlots, planMove, setPaused } from './steps.js';

const member = (port: number) => ({ region: 'eu', host: 'h', port });
const document: MapDocument = {
  revision: 7,
  groups: {
    a: { slots: '0-99', members: [member(1)] },
    b: { slots: ['100-109'], members: [member(2)] },
    c: { members: [member(3)] },
  },
};
const statesOf = (map: MapDocument, group: string, ...slots: number[]) => {
  const states = slotStates(mapOf(map), group);
  return slots.map((slot) => states[slot]);
};

describe('the steps of a move', () => {
  test('give each slot to one group at any time, with a higher revision each', () => {
    const planned = planMove(document, [{ first: 90, last: 104 }], 'c');
    expect(planned.moves).toEqual([
      { slots: ['90-99'], from: 'a', to: 'c' },
      { slots: ['100-104'], from: 'b', to: 'c' },
    ]);
    expect(statesOf(planned, 'a', 90, 100, 200)).toEqual([HERE, 2, UNOWNED]);
    const held = holdSlots(planned, 0, [{ first: 90, last: 91 }]);
    for (const group of ['a', 'c'])
      expect(statesOf(held, group, 89, 90, 91)).toEqual([...statesOf(planned, group, 89), HELD, HELD]);
    expect(statesOf(held, 'b', 90)).toEqual([1]);
    expect(statesOf(goBack(held, 0), 'a', 90, 91)).toEqual([HERE, HERE]);
    const owned = handOver(held, 0);
    expect(statesOf(owned, 'a', 90, 92)).toEqual([3, HERE]);
    expect(statesOf(owned, 'c', 90, 92)).toEqual([HERE, 1]);
    expect(owned.moves?.[0]).toEqual({ slots: ['92-99'], from: 'a', to: 'c', left: ['90-91'] });
    const dropped = dropCopies(owned, 0);
    expect(dropped.moves?.[0]).toEqual({ slots: ['92-99'], from: 'a', to: 'c' });
    expect([planned, held, owned, dropped].map(({ revision }) => revision)).toEqual([8, 9, 10, 11]);
    const last = dropCopies(handOver(holdSlots(dropped, 0, [{ first: 92, last: 99 }]), 0), 0);
    expect(last.moves).toEqual([{ slots: ['100-104'], from: 'b', to: 'c' }]);
    expect(setPaused(setPaused(last, true), false)).toEqual({ ...last, revision: last.revision + 2 });
  });

  test('are refused where slots move already, are of no group, or are there', () => {
    const planned = planMove(document, [{ first: 0, last: 9 }], 'b');
    expect(() => planMove(planned, [{ first: 5, last: 12 }], 'c')).toThrow('the slots 5-9 are moving already');
    expect(() => planMove(document, [{ first: 105, last: 120 }], 'c')).toThrow('the slots 110-120 belong to no group');
    expect(() => planMove(document, [{ first: 5, last: 6 }], 'a')).toThrow('the group a has these slots already');
    expect(() => planMove(document, [{ first: 5, last: 6 }], 'z')).toThrow('there is no group z');
  });

  test('go to the groups by weight, as few as possible', () => {
    const { moves } = planRebalance(document, new Map([['c', 0]]));
    expect(moves).toEqual([{ from: 'a', to: 'b', slots: [{ first: 55, last: 99 }] }]);
    expect(
      planRebalance(
        document,
        new Map([
          ['a', 10],
          ['b', 1],
          ['c', 0],
        ]),
      ).moves,
    ).toEqual([]);
    expect(() => planRebalance(document, new Map([['z', 1]]))).toThrow('there is no group z');
  });
});

test.each<[object, RegExp]>([
  [{ slots: '0-100', from: 'a', to: 'b' }, /slots 100 are not of the group 'a'/],
  [{ slots: '0-9', from: 'a', to: 'z' }, /there is no group 'z'/],
  [{ slots: '0-9', from: 'a', to: 'a' }, /between two groups/],
  [{ slots: '0-9', from: 'a', to: 'b', held: '9-10' }, /slots 10 are held and not in the move/],
  [{ from: 'a', to: 'b', left: '99-100' }, /slots 99 are not of the group 'b'/],
  [{ slots: '5-6', from: 'a', to: 'c' }, /slots 5-6 are in two moves/],
])('a map with the move %j is refused', (move, why) => {
  const moves = [{ slots: '5', from: 'a', to: 'b' }, move] as NonNullable<MapDocument['moves']>;
  const given = {
    ...document,
    moves: /two moves/.test(why.source) ? [{ ...moves[0], slots: '5-6' }, moves[1]] : [moves[1]],
  };
  expect(() => mapOf(given)).toThrow(why);
});

test('a map in a file has no moves: only one server would know of them', () => {
  const text = JSON.stringify(planMove(document, [{ first: 0, last: 9 }], 'b'));
  expect(() => readMap(text)).toThrow(/slots move only where the map is in etcd/);
});
