import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { rowOf } from '../testing/rows.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { readHistory, writeHistory } from './history.js';
import { findRepository } from './stamp.js';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});

test('a run is a file of its own, a scenario a line of its own', () => {
  const row = rowOf({ redis: [{ p99Ms: 1 }], quotadb: [{ p99Ms: 2 }] });
  const file = writeHistory(join(directory, 'bench', 'results'), [row, row]);
  expect(basename(file)).toBe('2026-01-02T03-04-05Z-0123456.ndjson');
  expect(
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([row, row]);
});

test('the history is read back whole, oldest first', () => {
  const row = rowOf({ redis: [{ p99Ms: 1 }], quotadb: [{ p99Ms: 2 }] });
  const older = { ...row, date: '2025-01-02T03:04:05.678Z', commit: 'ffffffffff' };
  writeHistory(directory, [row]);
  writeHistory(directory, [older]);
  expect(readHistory(directory)).toEqual([older, row]);
});

test('a line that is damaged is named', () => {
  writeFileSync(join(directory, 'x.ndjson'), '{}\n{"format":\n');
  expect(() => readHistory(directory)).toThrow('x.ndjson:2');
});

test("the repository is found from inside it, by its workspace's name", () => {
  writeFileSync(join(directory, 'package.json'), '{"name":"quotadb-workspace"}');
  expect(findRepository(join(directory, 'packages', 'bench'))).toBe(directory);
  writeFileSync(join(directory, 'package.json'), '{"name":"another"}');
  expect(findRepository(directory)).toBeUndefined();
});
