import { type MeasureName, measureOf } from '../results/measures.js';
import { BASELINE, type ResultRow } from '../results/row.js';
import { leadOf } from '../results/summary.js';
import { markdownTable } from './markdown.js';
import { groupBy, recentRatios, type Scenario } from './select.js';
import { limitsText, whenText } from './when.js';

/** The measures that are shown, as far as a workload has them; the others are in the rows. */
export const SHOWN_MEASURES: readonly MeasureName[] = [
  'throughputPerSecond',
  'serverCpuMicrosecondsPerOperation',
  'p99Ms',
  'halfLoadP99Ms',
  'residentBytesPerKey',
  'usedBytesPerKey',
  'logBytesPerMillionIncrements',
  'loadSeconds',
  'diskBytesPerKey',
  'lagP50Ms',
  'lagP99Ms',
  'wireBytesPerMillionIncrements',
  'joinSeconds',
  'wireBytesPerKey',
  'wireMebibytesPerSecond',
];

const ROW_COLUMNS = ['pipeline', 'connections', 'keys', 'client', 'measured'];
const TEXT_COLUMNS = [3, 4, 5];

/** A section for each workload: the newest row of each of its scenarios, and the older ones folded under it. */
export function scenarioTables(scenarios: readonly Scenario[]): string[] {
  return [...groupBy(scenarios, ({ newest }) => newest.workload)].flatMap(([workload, group]) => {
    const older = group.flatMap((scenario) => scenario.older);
    return [
      `### ${workload}`,
      '',
      ...new Set(group.map(({ newest }) => commandLine(newest))),
      '',
      ...tableOf(group),
      '',
      ...(older.length === 0
        ? []
        : folded(`${countText(older.length, 'older row')} of ${workload}`, olderTable(older))),
    ];
  });
}

export function folded(summary: string, lines: readonly string[]): string[] {
  return ['<details>', `<summary>${summary}</summary>`, '', ...lines, '', '</details>', ''];
}

export function countText(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function olderTable(rows: readonly ResultRow[]): string[] {
  const newestFirst = rows.toSorted((a, b) => b.date.localeCompare(a.date));
  return tableOf(newestFirst.map((newest) => ({ newest, older: [] })));
}

function tableOf(scenarios: readonly Scenario[]): string[] {
  const measures = SHOWN_MEASURES.filter((measure) =>
    scenarios.some(({ newest }) => Object.values(newest.sides).some((side) => side.measures[measure] !== undefined)),
  );
  const header = [...ROW_COLUMNS, 'side', ...measures.map((measure) => measureOf(measure).title)];
  const lines = scenarios.flatMap((scenario) =>
    Object.entries(scenario.newest.sides).map(([side, { version }], index) => [
      ...(index === 0 ? rowCells(scenario.newest) : ROW_COLUMNS.map(() => '')),
      `${side} ${version}`.trim(),
      ...measures.map((measure) => figureCell(scenario, side, measure)),
    ]),
  );
  return markdownTable(header, TEXT_COLUMNS, lines);
}

function rowCells(row: ResultRow): string[] {
  const { pipeline, connections, keys, client, rounds, secondsPerRound, sides } = row;
  const length = secondsPerRound === 0 ? countText(rounds, 'round') : `${rounds} × ${secondsPerRound} s`;
  const isLoad = pipeline > 0;
  return [
    isLoad ? `${pipeline}` : '',
    isLoad ? `${connections}` : '',
    keys.toLocaleString('en-US'),
    client,
    `${whenText(row)}; ${length}; limits: ${limitsText(Object.values(sides).map((side) => side.limits))}`,
  ];
}

/** The median; the ratio to Redis, bold where Redis is ahead; the range of that ratio in the newest rows. */
function figureCell(scenario: Scenario, side: string, measure: MeasureName): string {
  const row = scenario.newest;
  const { better, format } = measureOf(measure);
  const ours = row.sides[side]!.measures[measure];
  if (ours === undefined) return '';
  const theirs = row.sides[BASELINE]?.measures[measure];
  const ratio = row.ratiosToRedis[side]?.[measure];
  if (side === BASELINE || theirs === undefined || ratio === undefined) return format(ours.median);
  const lead = leadOf(theirs, ours, better!);
  const ratioText = `${ratio.toFixed(2)}×`;
  const marked = lead === undefined ? ratioText : `**${ratioText}**${lead.doubt && '?'}`;
  const recent = recentRatios(scenario, side, measure);
  const range = recent.length > 1 ? ` (${Math.min(...recent).toFixed(2)}–${Math.max(...recent).toFixed(2)})` : '';
  return `${format(ours.median)}, ${marked}${range}`;
}

/** What a workload is, and its commands; with the kinds of servers where they differ. */
function commandLine({ description, sides }: ResultRow): string {
  const byCommands = groupBy(Object.values(sides), (side) => side.commands);
  const texts = [...byCommands].map(([commands, senders]) => {
    const kinds = [...new Set(senders.map(({ kind }) => kind))].join(', ');
    return byCommands.size === 1 ? `\`${commands}\`` : `${kinds}: \`${commands}\``;
  });
  return `${description}. ${texts.join('; ')}`;
}
