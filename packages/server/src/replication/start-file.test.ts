import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noteStart, releaseStarts } from './start-file.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-test-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

test('starts are kept, those between which nothing changed as one, and not those of another incarnation', () => {
  expect(noteStart(directory, 'a', { nowMs: 10, versions: [0, 0] })).toHaveLength(1);
  expect(noteStart(directory, 'a', { nowMs: 20, versions: [0, 0] })).toEqual([{ nowMs: 20, versions: [0, 0] }]);
  expect(noteStart(directory, 'a', { nowMs: 30, versions: [0, 7] })).toEqual([
    { nowMs: 20, versions: [0, 0] },
    { nowMs: 30, versions: [0, 7] },
  ]);
  expect(noteStart(directory, 'b', { nowMs: 40, versions: [0, 7] })).toHaveLength(1);
});

test('a clock that was ahead at an earlier start leaves no gap in the future', () => {
  noteStart(directory, 'a', { nowMs: 1000, versions: [0, 0] });
  expect(noteStart(directory, 'a', { nowMs: 30, versions: [0, 7] })).toEqual([
    { nowMs: 30, versions: [0, 0] },
    { nowMs: 30, versions: [0, 7] },
  ]);
});

test('a damaged file stops the start, and says what to do', () => {
  writeFileSync(join(directory, 'starts.json'), '{"origin":"a","starts":[{"nowMs":1');
  expect(() => noteStart(directory, 'a', { nowMs: 10, versions: [] })).toThrow(/starts.json is damaged. Remove it/);
});

test('starts that are held stay so until they are released: the first and the last ones, with their places', () => {
  const place = (segment: number) => ({ segment, previousEnd: 80 });
  const note = (segment: number) =>
    noteStart(directory, 'a', { nowMs: segment, versions: [segment], isHeld: true, place: place(segment) });
  for (let segment = 1; segment < 6; segment++) note(segment);
  const starts = note(6);
  expect(starts.map((start) => start.place?.segment)).toEqual([1, undefined, undefined, 4, 5, 6]);
  expect(starts.map(({ isHeld = false }) => isHeld)).toEqual([true, false, false, true, true, true]);
  releaseStarts(directory, 'a', starts);
  const next = noteStart(directory, 'a', { nowMs: 7, versions: [7] });
  expect(next.map(({ isHeld = false, place: kept }) => isHeld || kept !== undefined)).toEqual(Array(7).fill(false));
});
