import type { MeasureName } from '../results/measures.js';
import { measureOf } from '../results/measures.js';
import type { RlsRow } from '../results/rls-row.js';
import { markdownTable } from './markdown.js';
import { countText, folded } from './scenario-tables.js';
import { groupBy } from './select.js';
import { limitsText, whenText } from './when.js';

const MEASURES: readonly MeasureName[] = [
  'throughputPerSecond',
  'serverCpuMicrosecondsPerOperation',
  'p99Ms',
  'halfLoadP99Ms',
];

/** The section about Envoy's door; empty where it was never measured. The newest row of each kind of limit first. */
export function renderRls(history: readonly RlsRow[]): string[] {
  const kinds = [...groupBy(history, ({ kind, streams }) => `${kind} ${streams}`).values()];
  if (kinds.length === 0) return [];
  const older = kinds.flatMap((rows) => rows.slice(0, -1)).toSorted((a, b) => b.date.localeCompare(a.date));
  return [
    "## Envoy's rate limits",
    '',
    'ShouldRateLimit over gRPC beside the same decision over RESP, on one server, by turns (`npx quotadb bench rls`). The',
    'client is our own on both sides.',
    '',
    ...table(kinds.map((rows) => rows.at(-1)!)),
    '',
    ...(older.length === 0 ? [] : folded(countText(older.length, 'older row'), table(older))),
  ];
}

function table(rows: readonly RlsRow[]): string[] {
  const lines = rows.flatMap((row) =>
    Object.entries(row.sides).map(([side, measures], index) => [
      ...(index === 0 ? [row.kind, `${row.streams}`] : ['', '']),
      side,
      ...MEASURES.map((measure) => {
        const summary = measures[measure];
        return summary === undefined ? '' : measureOf(measure).format(summary.median);
      }),
      index === 0 ? `${whenText(row)}; limits: ${limitsText([row.limits])}` : '',
    ]),
  );
  const header = ['limit', 'calls at once', 'side', ...MEASURES.map((measure) => measureOf(measure).title), 'measured'];
  return markdownTable(header, [0, 2, 7], lines);
}
