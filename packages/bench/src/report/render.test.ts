import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readHistory, writeHistory } from '../results/history.js';
import { bench } from '../testing/bench.js';
import { rowOf } from '../testing/rows.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { renderReport } from './render.js';
import { readOtherRows } from './suite.js';

const load = { throughputPerSecond: 1000, serverCpuMicrosecondsPerOperation: 1, p99Ms: 2, halfLoadP99Ms: 1 };
const first = rowOf({ redis: [load], quotadb: [{ ...load, serverCpuMicrosecondsPerOperation: 1.5 }] });
const second = rowOf(
  { redis: [load], quotadb: [{ ...load, throughputPerSecond: 2000 }] },
  { date: '2026-02-03T04:05:06.789Z', commit: 'fedcba9876543210' },
);
const memory = rowOf(
  { redis: [{ residentBytesPerKey: 90 }], quotadb: [{ residentBytesPerKey: 72 }] },
  { workload: 'memory', pipeline: 0, connections: 0, date: second.date, commit: second.commit },
);

test('the page shows the newest figures of every scenario with ratios, and says where Redis is ahead', () => {
  const page = renderReport([first, second, memory]).get('benchmarks.md')!;
  expect(page).toContain(
    '| incr-uniform over 1,000,000 keys, pipeline 16, 50 connections | redis 1.0.0 | 1,000 |  | 1.000 |',
  );
  expect(page).toContain('|  | quotadb 1.0.0 | 2,000 | 2.00× | 1.000 | 1.00× |');
  expect(page).toContain('| memory, 1,000,000 keys of 42 bytes | redis 1.0.0 | 90.0 |');
  expect(page).toContain('0.80×');
  expect(page).toContain('Redis is ahead of quotadb in none of');
  expect(page).toContain('(benchmarks/incr-uniform-50-connections.svg)');
  expect(page).toContain('(benchmarks/memory.svg)');
  const older = renderReport([first]).get('benchmarks.md')!;
  expect(older).toContain('**1.50×**?');
  expect(older).toContain('Redis is ahead of quotadb in 1 of');
});

test('a plot has a point for every run that measured it', () => {
  const svg = renderReport([first, second]).get('benchmarks/incr-uniform-50-connections.svg')!;
  expect(svg).toContain('quotadb, pipeline 16: 1.50× Redis, 0123456, 2026-01-02');
  expect(svg).toContain('quotadb, pipeline 16: 1.00× Redis, fedcba9, 2026-02-03');
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).not.toContain('NaN');
});

test('smoke runs and other machines stay out of it', () => {
  const smoke = { ...second, smoke: true };
  const elsewhere = { ...first, machine: { ...first.machine, cpuModel: 'another' }, date: '2025-01-01T00:00:00.000Z' };
  expect([...renderReport([elsewhere, first, smoke])]).toEqual([...renderReport([first])]);
  expect(() => renderReport([smoke])).toThrow('no results');
});

test('the files are written, and plots of scenarios no longer measured are removed', async () => {
  const directory = temporaryDirectory();
  const flags = ['--results', join(directory, 'results'), '--docs', join(directory, 'docs')];
  writeHistory(join(directory, 'results'), [first]);
  const { printed: written } = await bench('report', ...flags);
  const stale = join(directory, 'docs', 'benchmarks', 'stale.svg');
  writeFileSync(stale, '');
  expect((await bench('report', ...flags)).printed).toBe(written);
  expect(written.split('\n').every((file) => existsSync(file))).toBe(true);
  expect(existsSync(stale)).toBe(false);
});

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const results = join(root, 'bench', 'results');

test('the report in the repository is that of the results in the repository', () => {
  const history = existsSync(results) ? readHistory(results) : [];
  const expected = history.length > 0 ? renderReport(history, readOtherRows(results)) : new Map<string, string>();
  for (const [file, content] of expected) {
    expect(readFileSync(join(root, 'docs', file), 'utf8'), `run: npx quotadb bench report (${file})`).toBe(content);
  }
  expect(existsSync(join(root, 'docs', 'benchmarks.md'))).toBe(expected.size > 0);
});
