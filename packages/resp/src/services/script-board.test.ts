import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { ScriptBoard, Slow } from './script-board.js';

const digestOf = (source: string) => createHash('sha1').update(source, 'latin1').digest('hex');
const add = (board: ScriptBoard, source: string, isLoaded: boolean) => board.add(digestOf(source), source, isLoaded);

test('a script that one lane adds is there for another at once, until a lane removes all', () => {
  const one = new ScriptBoard();
  const other = new ScriptBoard(one.buffer);
  add(one, 'return "\xff\0"', true);
  expect(other.find(digestOf('return "\xff\0"'))).toBe('return "\xff\0"');
  add(other, 'return 2', false);
  expect(one.has(digestOf('return 2'))).toBe(true);
  expect(one.figures().scripts).toBe(2);
  const { generation } = one;
  other.flush();
  expect(one.has(digestOf('return 2'))).toBe(false);
  expect(one.find(digestOf('return 2'))).toBeUndefined();
  expect(one.generation).not.toBe(generation);
  expect(one.figures()).toEqual({ scripts: 0, bytes: 0 });
});

test('of the scripts that EVAL adds the oldest go; a loaded one stays', () => {
  const board = new ScriptBoard();
  add(board, 'loaded', true);
  add(board, 'loaded later', false);
  add(board, 'loaded later', true);
  for (let index = 0; index < 2000; index++) add(board, `return ${index}`, false);
  expect(board.figures().scripts).toBeLessThanOrEqual(502);
  expect(board.has(digestOf('loaded'))).toBe(true);
  expect(board.has(digestOf('loaded later'))).toBe(true);
  expect(board.has(digestOf('return 0'))).toBe(false);
  expect(board.find(digestOf('return 1999'))).toBe('return 1999');
});

test('a region that is full loses the scripts of EVAL first, then the oldest loaded ones', () => {
  const board = new ScriptBoard();
  const large = (name: string) => name.padEnd(ScriptBoard.MAX_SCRIPT_BYTES);
  for (let index = 0; index < 40; index++) add(board, large(`loaded ${index}`), true);
  add(board, large('evaluated'), false);
  for (let index = 40; index < 80; index++) add(board, large(`loaded ${index}`), true);
  expect(board.has(digestOf(large('evaluated')))).toBe(false);
  expect(board.has(digestOf(large('loaded 0')))).toBe(false);
  expect(board.find(digestOf(large('loaded 79')))).toBe(large('loaded 79'));
  expect(board.figures().bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
});

test('a slow script is killed before it writes or not at all', () => {
  const board = new ScriptBoard();
  expect(board.kill()).toEqual({ killed: 0, unkillable: 0 });
  board.setSlow(1, Slow.yes);
  board.setSlow(2, Slow.yes);
  expect(board.beginWriting(2)).toBe(true);
  expect(board.kill()).toEqual({ killed: 1, unkillable: 1 });
  expect(board.beginWriting(1)).toBe(false);
  expect(board.beginWriting(3)).toBe(true);
  expect(board.slowOf(3)).toBe(Slow.no);
});
