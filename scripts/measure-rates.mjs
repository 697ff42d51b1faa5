/**
 * Measures rate limits across simulated regions (packages/simulator/src/rates) and writes the results: a row each in
 * bench/results/rates, the plot and the tables of docs/algorithms/sliding-window.md. The same source gives the same
 * figures anywhere.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measureRates, plotRates, tabulateRates } from '../packages/simulator/dist/rates/figures.js';

const PAGE = 'docs/algorithms/sliding-window.md';
const PLOT = 'docs/algorithms/sliding-window-regions.svg';
const MARKS = /(<!-- measured: scripts\/measure-rates\.mjs -->\n).*?(<!-- \/measured -->)/s;

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
const uncommittedChanges = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' }) !== '';
const date = new Date().toISOString();
const rows = [];
await measureRates((row) => {
  rows.push(row);
  process.stderr.write(`${JSON.stringify(row)}\n`);
});
mkdirSync('bench/results/rates', { recursive: true });
const name = `${date.slice(0, 19).replaceAll(':', '-')}Z-${commit.slice(0, 7)}`;
const lines = rows.map((row) => `${JSON.stringify({ format: 1, date, commit, uncommittedChanges, ...row })}\n`);
writeFileSync(`bench/results/rates/${name}.ndjson`, lines.join(''));
writeFileSync(PLOT, plotRates(rows));
const page = readFileSync(PAGE, 'utf8');
if (!MARKS.test(page)) throw new Error(`${PAGE} has no place for tables`);
writeFileSync(
  PAGE,
  page.replace(MARKS, (_, before, after) => `${before}\n${tabulateRates(rows)}\n\n${after}`),
);
