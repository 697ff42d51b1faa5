import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readHistory, writeHistory } from '../results/history.js';
import type { ResultRow } from '../results/row.js';
import { bench } from '../testing/bench.js';
import { rowOf } from '../testing/rows.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { renderReport } from './render.js';
import { readOtherRows } from './suite.js';

const load = { throughputPerSecond: 1000, serverCpuMicrosecondsPerOperation: 1, p99Ms: 2, halfLoadP99Ms: 1 };
const first = rowOf({ redis: [load], quotadb: [{ ...load, serverCpuMicrosecondsPerOperation: 1.5 }] });
const newer = { date: '2026-02-03T04:05:06.789Z', commit: 'fedcba9876543210' };
const second = rowOf({ redis: [load], quotadb: [{ ...load, throughputPerSecond: 2000 }] }, newer);
const memory = rowOf(
  { redis: [{ residentBytesPerKey: 90 }], quotadb: [{ residentBytesPerKey: 72 }] },
  { workload: 'memory', pipeline: 0, connections: 0, ...newer },
);
const pageOf = (...rows: ResultRow[]) => renderReport(rows).get('benchmarks.md')!;

test('the newest row of a scenario is shown with the range of its last three, the older ones folded under it', () => {
  const page = pageOf(first, second, memory);
  const [shown, older] = page.slice(page.indexOf('### incr-uniform')).split('<details>');
  const measured = 'quotadb-bench | 2026-02-03 fedcba9; 3 × 3 s; limits: 2 CPUs, 2 GiB |';
  expect(shown).toContain(`| 16 | 50 | 1,000,000 | ${measured} redis 1.0.0 | 1,000 | 1.000 | 2.000 | 1.000 |`);
  expect(shown).toContain('| quotadb 1.0.0 | 2,000, 2.00× (1.00–2.00) | 1.000, 1.00× (1.00–1.50) |');
  expect(shown).not.toContain('0123456');
  expect(older).toContain('<summary>1 older row of incr-uniform</summary>');
  expect(older).toContain('2026-01-02 0123456');
  expect(older).toContain('| 1,000, 1.00× | 1.500, **1.50×**? |');
  expect(page).toContain('| 72.0, 0.80× |');
});

test('a row with fewer lanes is newer than one with more; another client, number of keys or setting is not', () => {
  const lanes = rowOf({ redis: [load], 'quotadb 1 lane': [load], 'quotadb 2 lanes': [load] });
  const one = rowOf({ redis: [load], 'quotadb 1 lane': [load] }, newer);
  expect(pageOf(lanes, one)).toContain('1 older row of incr-uniform');
  const others = [
    { ...one, client: 'redis-benchmark' },
    { ...one, keys: 10 },
    rowOf({ redis: [load], 'quotadb 1 lane --transport net': [load] }, newer),
  ];
  expect(pageOf(lanes, ...others)).not.toContain('older row');
});

test('what is certainly lost is at the top, the largest first, with the worst of the last three rows', () => {
  const lost = (p99Ms: number, throughputPerSecond: number) =>
    rowOf({
      redis: [
        { p99Ms: 1, throughputPerSecond: 100 },
        { p99Ms: 1.1, throughputPerSecond: 110 },
      ],
      quotadb: [
        { p99Ms, throughputPerSecond },
        { p99Ms, throughputPerSecond },
      ],
    });
  const page = pageOf(lost(9, 100), lost(8, 100), { ...lost(2.1, 70), ...newer });
  expect(page.indexOf('## Certain losses')).toBeLessThan(page.indexOf('## Aims'));
  expect(page).toContain('In 2 of the 2 comparisons');
  const lines = page.split('\n').filter((line) => line.startsWith('| incr-uniform | pipeline 16'));
  expect(lines[0]).toContain('| p99, ms | 1.050 | 2.100 | **2.00×** | 8.57× | 2026-02-03 fedcba9 |');
  expect(lines[1]).toContain('| throughput, operations/s | 105 | 70 | **0.67×** | 0.67× |');
  const doubtful = pageOf(lost(9, 100), { ...lost(1.05, 105), ...newer });
  expect(doubtful).toContain('In 0 of the 2 comparisons');
});

test('the aims have a cell for every pipeline: the newest ratio, its alternations, the worst of the last three', () => {
  const cpu = (figure: number, changes: object) => {
    const ours = [{ serverCpuMicrosecondsPerOperation: figure }, { serverCpuMicrosecondsPerOperation: figure }];
    const redis = [{ serverCpuMicrosecondsPerOperation: 1 }, { serverCpuMicrosecondsPerOperation: 2 }];
    return rowOf({ redis, 'quotadb 1 lane': ours }, changes);
  };
  const at = (day: number) => ({ date: `2026-03-0${day}T00:00:00.000Z` });
  const rows = [cpu(9, at(1)), cpu(0.6, at(2)), cpu(1.2, at(3)), cpu(0.9, at(4)), cpu(0.3, { ...at(4), pipeline: 64 })];
  const aims = pageOf(...rows);
  expect(aims).toContain('| pipeline 1, ≤ 0.95× | pipeline 16, ≤ 0.75× | pipeline 64, ≤ 0.65× | newest row | limits |');
  expect(aims).toContain(
    '| incr-uniform | quotadb-bench | 1,000,000 | not measured | **0.60×** (1 of 2); worst 0.80× | 0.20× (2 of 2) ' +
      '| 2026-03-04 0123456 | 2 CPUs, 2 GiB |',
  );
});

test('a plot has a point for every run that measured it; what was measured once has none', () => {
  const name = 'benchmarks/incr-uniform-50-connections-1000000-keys-quotadb-bench.svg';
  const files = renderReport([first, second, memory]);
  const svg = files.get(name)!;
  expect(svg).toContain('quotadb, pipeline 16: 1.50× Redis, 0123456, 2026-01-02');
  expect(svg).toContain('quotadb, pipeline 16: 1.00× Redis, fedcba9, 2026-02-03');
  expect(svg).toContain('prefers-color-scheme:dark');
  expect(svg).not.toContain('NaN');
  expect([...files.keys()]).toEqual(['benchmarks.md', name]);
  expect(files.get('benchmarks.md')).toContain(`(${name})`);
});

test('that no Valkey was measured is said', () => {
  expect(pageOf(first)).toContain('Valkey is in no row');
  expect(pageOf(rowOf({ redis: [load], valkey: [load], quotadb: [load] }))).toContain(
    'Valkey took part in 1 row, last with 1.0.0 (',
  );
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
  writeHistory(join(directory, 'results'), [second]);
  const { printed: written } = await bench('report', ...flags);
  const stale = join(directory, 'docs', 'benchmarks', 'stale.svg');
  writeFileSync(stale, '');
  expect((await bench('report', ...flags)).printed).toBe(written);
  expect(written.split('\n').every((file) => existsSync(file))).toBe(true);
  expect(existsSync(stale)).toBe(false);
});

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const results = join(root, 'bench', 'results');

/** Summaries of rows, simulations and plots. */
const WITHOUT_ROWS = ['Certain losses', 'Aims', 'One limit across regions', 'Over time'];

test('every section of rows says what the servers were held to and who the client was', () => {
  const page = renderReport(readHistory(results), readOtherRows(results)).get('benchmarks.md')!;
  const sections = page.split('\n## ').slice(1);
  expect(sections.length).toBeGreaterThan(WITHOUT_ROWS.length);
  for (const section of sections.filter((text) => !WITHOUT_ROWS.includes(text.split('\n')[0]!))) {
    expect(section).toMatch(/limits/);
    expect(section).toMatch(/client/);
  }
});

test('the report in the repository is that of the results in the repository', () => {
  const history = existsSync(results) ? readHistory(results) : [];
  const expected = history.length > 0 ? renderReport(history, readOtherRows(results)) : new Map<string, string>();
  for (const [file, content] of expected) {
    expect(readFileSync(join(root, 'docs', file), 'utf8'), `run: npx quotadb bench report (${file})`).toBe(content);
  }
  expect(existsSync(join(root, 'docs', 'benchmarks.md'))).toBe(expected.size > 0);
});
