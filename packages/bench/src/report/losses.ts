import { worstOf } from '../results/load-aims.js';
import { measureOf } from '../results/measures.js';
import { BASELINE, type ResultRow, type Side } from '../results/row.js';
import { leadOf } from '../results/summary.js';
import { markdownTable } from './markdown.js';
import { folded, SHOWN_MEASURES } from './scenario-tables.js';
import { recentRatios, type Scenario } from './select.js';
import { whenText } from './when.js';

/** More than a reader takes in are folded. */
const LISTED = 20;

interface Loss {
  readonly by: number;
  readonly cells: readonly string[];
}

/** Where even the worst round of Redis beat our best, in the newest row of a scenario; the largest lead first. */
export function renderLosses(scenarios: readonly Scenario[]): string[] {
  const losses = scenarios.flatMap(lossesOf).sort((a, b) => b.by - a.by);
  const compared = scenarios.flatMap(({ newest }) =>
    oursOf(newest).flatMap(([name]) => SHOWN_MEASURES.filter((measure) => newest.ratiosToRedis[name]?.[measure])),
  );
  const table = (rows: readonly Loss[]) =>
    markdownTable(
      ['workload', 'load', 'side', 'measure', 'Redis', 'QuotaDB', 'ratio', 'worst of the last three', 'measured'],
      [0, 1, 2, 3, 8],
      rows.map(({ cells }) => cells),
    );
  const rest = losses.slice(LISTED);
  return [
    '## Certain losses',
    '',
    `In ${losses.length} of the ${compared.length} comparisons of the newest row of each scenario Redis is ahead for certain:`,
    'even its worst round was better than the best of QuotaDB.',
    '',
    ...(losses.length === 0 ? [] : [...table(losses.slice(0, LISTED)), '']),
    ...(rest.length === 0 ? [] : folded(`${rest.length} more`, table(rest))),
  ];
}

function lossesOf(scenario: Scenario): Loss[] {
  const { newest: row } = scenario;
  return oursOf(row).flatMap(([name, side]) =>
    SHOWN_MEASURES.flatMap((measure): Loss[] => {
      const { better, title, format } = measureOf(measure);
      const theirs = row.sides[BASELINE]?.measures[measure];
      const figure = side.measures[measure];
      if (better === undefined || !theirs || !figure) return [];
      const lead = leadOf(theirs, figure, better);
      if (lead?.doubt !== '') return [];
      const worst = worstOf(recentRatios(scenario, name, measure), better);
      const ratio = row.ratiosToRedis[name]![measure]!;
      const figures = [
        format(theirs.median),
        format(figure.median),
        `**${ratio.toFixed(2)}×**`,
        `${worst.toFixed(2)}×`,
      ];
      return [{ by: lead.by, cells: [row.workload, loadText(scenario), name, title, ...figures, whenText(row)] }];
    }),
  );
}

function oursOf({ sides }: ResultRow): [name: string, side: Side][] {
  return Object.entries(sides).filter(([, { kind }]) => kind === 'quotadb');
}

function loadText({ newest: { pipeline, connections, keys, client } }: Scenario): string {
  const count = `${keys.toLocaleString('en-US')} keys`;
  return pipeline === 0 ? count : `pipeline ${pipeline}, ${connections} connections, ${count}, ${client}`;
}
