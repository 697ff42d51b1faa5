import { expect, test } from 'vitest';
import { byTurns } from './rounds.js';

test('sides take turns, every other round in reverse, and each keeps its own rounds in their order', async () => {
  const turns: string[] = [];
  const measured = await byTurns(['a', 'b', 'c'], 3, async (side, round) => {
    turns.push(side);
    return `${side}${round}`;
  });
  expect(turns.join('')).toBe('abccbaabc');
  expect(measured).toEqual([
    ['a0', 'a1', 'a2'],
    ['b0', 'b1', 'b2'],
    ['c0', 'c1', 'c2'],
  ]);
});
