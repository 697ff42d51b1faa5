import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import { countSlots, rangesOf, type SlotRange } from '../slots/slot-range.js';
import { planMove } from './steps.js';

/** Slots that one group gives to another. */
export interface PlannedMove {
  readonly from: string;
  readonly to: string;
  readonly slots: readonly SlotRange[];
}

/**
 * The fewest slots that have to move so that every group has its part by weight; groups without a weight have 1, and
 * one with 0 gives all away. Throws where slots move already, or a weight is of no group.
 */
export function planRebalance(
  document: MapDocument,
  weights: ReadonlyMap<string, number>,
): { readonly document: MapDocument; readonly moves: readonly PlannedMove[] } {
  const map = mapOf(document);
  if (map.moves.length > 0) throw new Error('slots are moving already: wait until they are there');
  const unknown = [...weights.keys()].find((name) => map.find(name) === undefined);
  if (unknown !== undefined) throw new Error(`there is no group ${unknown}`);
  const weightOf = (name: string) => weights.get(name) ?? 1;
  const sum = map.groups.reduce((total, { name }) => total + weightOf(name), 0);
  if (sum === 0) throw new Error('no group would have slots: give one a weight above 0');
  const all = map.groups.reduce((total, { slots }) => total + countSlots(slots), 0);
  let [before, given] = [0, 0];
  const parts = map.groups.map(({ name, slots }) => {
    before += weightOf(name);
    const part = Math.round((all * before) / sum) - given;
    given += part;
    return { name, surplus: countSlots(slots) - part, slots };
  });
  const takers = parts.filter(({ surplus }) => surplus < 0).map(({ name, surplus }) => ({ name, missing: -surplus }));
  const moves: PlannedMove[] = [];
  for (const { name, slots, surplus } of parts) {
    let left = Math.max(surplus, 0);
    // The last ones: what stays is one range where it was one.
    const numbers = slots.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at));
    while (left > 0) {
      const taker = takers.find(({ missing }) => missing > 0);
      if (taker === undefined) break;
      const moved = new Set(numbers.splice(numbers.length - Math.min(left, taker.missing)));
      left -= moved.size;
      taker.missing -= moved.size;
      moves.push({ from: name, to: taker.name, slots: rangesOf((slot) => moved.has(slot)) });
    }
  }
  const after = moves.reduce((planned, { slots, to }) => planMove(planned, slots, to), document);
  return { document: after, moves };
}
