import { type FigureAim, figureAims, type Records, worstOfEachRun } from '../results/figure-aims.js';
import {
  AIM_CONNECTIONS,
  AIM_WORKLOADS,
  type AimResult,
  isBetter,
  type LoadAim,
  loadAims,
  resultOf,
  worstOf,
} from '../results/load-aims.js';
import type { ResultRow } from '../results/row.js';
import { markdownTable } from './markdown.js';
import { groupBy, ROWS_THAT_COUNT } from './select.js';
import { alignColumns } from './table.js';
import { limitsText, whenText } from './when.js';

/** The section about the aims: what the newest rows say, and the worst of the last three. */
export function renderAims(records: Records): string[] {
  return [
    '## Aims',
    '',
    'A cell is the ratio to Redis in the newest row (of medians), how many of its alternations meet the aim, and the worst',
    `ratio of the last ${ROWS_THAT_COUNT} rows. An aim is met by four of five alternations; **bold** is not. At half load both clients'`,
    "rows are sent by our own, which can pace: at half of what Redis reached with the row's client. 10,000 keys have no aim",
    'of their own and are held to the same (`npx quotadb bench aims`).',
    '',
    ...loadAims.flatMap((aim) => [`### ${aim.title}`, '', ...loadAimTable(aim, records.rows), '']),
    '### Other aims',
    '',
    'Of a run with several rows, pipelines or sides, the worst counts.',
    '',
    ...markdownTable(
      ['', 'aim', 'newest', `worst of the last ${ROWS_THAT_COUNT} runs`, 'measured'],
      [0, 4],
      figureAims.map((aim) => figureAimLine(aim, records)),
    ),
    '',
  ];
}

function boundText({ better }: { readonly better: 'higher' | 'lower' }, bound: number, unit: string): string {
  return `${better === 'higher' ? '≥' : '≤'} ${bound}${unit}`;
}

function loadAimTable(aim: LoadAim, rows: readonly ResultRow[]): string[] {
  const measured = rows.filter(
    (row) => AIM_WORKLOADS.includes(row.workload) && row.connections === AIM_CONNECTIONS && resultOf(aim, row),
  );
  const pipelines = Object.entries(aim.bounds);
  const header = pipelines.map(([pipeline, bound]) => `pipeline ${pipeline}, ${boundText(aim, bound, '×')}`);
  const groups = [...groupBy(measured, ({ workload, client, keys }) => JSON.stringify([workload, client, keys]))];
  const lines = groups
    .map(([, group]) => group)
    .sort(([a], [b]) => inOrder(a!, b!))
    .map((group) => {
      const cells = pipelines.map(([pipeline]) => group.filter((row) => row.pipeline === Number(pipeline)));
      const newest = cells.flatMap((cell) => cell.slice(-1));
      const { workload, client, keys } = group[0]!;
      return [
        ...[workload, client, keys.toLocaleString('en-US')],
        ...cells.map((cell) => loadAimCell(aim, cell)),
        [...new Set(newest.map(whenText))].join(', '),
        limitsText(newest.flatMap(({ sides }) => Object.values(sides).map((side) => side.limits))),
      ];
    });
  if (lines.length === 0) return ['Not measured.'];
  return markdownTable(['', 'client', 'keys', ...header, 'newest row', 'limits'], [0, 1, 6, 7], lines);
}

/** INCR before GET, our own client before redis-benchmark. */
function inOrder(a: ResultRow, b: ResultRow): number {
  return b.workload.localeCompare(a.workload) || a.client.localeCompare(b.client) || a.keys - b.keys;
}

function loadAimCell(aim: LoadAim, rows: readonly ResultRow[]): string {
  const results = rows.slice(-ROWS_THAT_COUNT).map((row) => resultOf(aim, row)!);
  const newest = results.at(-1);
  if (newest === undefined) return 'not measured';
  const worst = worstOf(
    results.map(({ ratio }) => ratio),
    aim.better,
  );
  const lanes = aim.lanes === 'best' ? `, ${newest.side.replace('quotadb ', '')}` : '';
  const worstText = results.length === 1 ? '' : `; worst ${worst.toFixed(2)}×`;
  const ratio = `${newest.ratio.toFixed(2)}×`;
  return `${newest.isMet ? ratio : `**${ratio}**`} ${metText(newest)}${lanes}${worstText}`;
}

function metText({ metIn, alternations }: AimResult): string {
  return `(${metIn} of ${alternations})`;
}

function figureAimLine(aim: FigureAim, records: Records): string[] {
  const { title, bound, unit, better } = aim;
  const runs = worstOfEachRun(aim, records).slice(-ROWS_THAT_COUNT);
  const newest = runs.at(-1);
  const aimText = boundText(aim, bound, unit);
  if (newest === undefined) return [title, aimText, 'not measured', '', ''];
  const text = (value: number) => {
    const figure = `${value.toFixed(unit === ' ms' ? 1 : 2)}${unit}`;
    return value === bound || isBetter(aim, value, bound) ? figure : `**${figure}**`;
  };
  const worst = worstOf(
    runs.map(([, value]) => value),
    better,
  );
  return [title, aimText, text(newest[1]), runs.length === 1 ? '' : text(worst), whenText(newest[0])];
}

/** The same for the rows of one run, as text: a verdict on each cell. */
export function formatAims(rows: readonly ResultRow[]): string {
  return loadAims.map((aim) => [aim.title, ...verdictLines(aim, rows), ''].join('\n')).join('\n');
}

function verdictLines(aim: LoadAim, rows: readonly ResultRow[]): string[] {
  const lines = rows.flatMap((row) => {
    const result = resultOf(aim, row);
    if (result === undefined) return [];
    const { bound, side, ratio, metIn, alternations, isMet } = result;
    const verdict = `${isMet ? 'met' : 'missed'}: in ${metIn} of ${alternations} alternations`;
    const where = [`  ${row.workload}`, row.client, `${row.keys} keys`, `pipeline ${row.pipeline}`, side];
    return [[...where, `${ratio.toFixed(2)}x`, boundText(aim, bound, 'x'), verdict]];
  });
  return lines.length === 0 ? ['  not measured'] : alignColumns(lines);
}
