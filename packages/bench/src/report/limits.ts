import type { LimitsRow } from '../results/limits-row.js';
import { markdownTable } from './markdown.js';
import { countText, folded } from './scenario-tables.js';
import { groupBy } from './select.js';
import { limitsText, whenText } from './when.js';

/** The section about limits and clients; empty where they were never measured. The newest row of each contest first. */
export function renderLimits(history: readonly LimitsRow[]): string[] {
  if (history.length === 0) return [];
  const contests = [...groupBy(history, ({ contest }) => contest)].flatMap(([contest, rows]) => {
    const [newest, ...older] = rows.toReversed();
    const summary = `${countText(older.length, 'older row')} of ${contest}`;
    return [
      `### ${contest}`,
      '',
      ...rowText(newest!),
      ...(older.length === 0 ? [] : folded(summary, older.flatMap(rowText).slice(0, -1))),
    ];
  });
  return [
    '## Limits, clients and libraries',
    '',
    'Each row is one server or one process, its sides by turns (`npx quotadb bench limits`). The client is in the process of',
    'the bench: our own load generator, or the library that the side names.',
    '',
    ...contests,
  ];
}

function rowText(row: LimitsRow): string[] {
  const { description, rounds, secondsPerRound, limits = 'none', sides, ratios = {} } = row;
  const lines = Object.entries(sides).map(([name, side]) => {
    const ratio = ratios[name];
    const cpu = ratio?.serverCpuMicrosecondsPerOperation;
    return [
      name,
      Math.round(side.operationsPerSecond.median).toLocaleString('en-US'),
      side.clientCpuMicrosecondsPerOperation.median.toFixed(2),
      side.serverCpuMicrosecondsPerOperation?.median.toFixed(2) ?? '',
      cpu === undefined ? '' : `${cpu.toFixed(2)}× ${ratio!.to}`,
      side.p99Ms?.median.toFixed(3) ?? '',
    ];
  });
  const header = ['side', 'operations/s', 'client CPU, µs', 'server CPU, µs', 'server CPU beside', 'p99, ms'];
  const measured = `${whenText(row)}; ${rounds} × ${secondsPerRound} s; limits: ${limitsText([limits])}`;
  return [`${description}. ${measured}.`, '', ...markdownTable(header, [0], lines), ''];
}
