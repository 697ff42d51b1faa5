import type { CountsRow } from '../counts/row.js';
import { markdownTable } from './markdown.js';
import { countText, folded } from './scenario-tables.js';
import { groupBy, ROWS_THAT_COUNT, rowsOfLatestMachine } from './select.js';
import { whenText } from './when.js';

/** The section about counts over HTTP; empty where they were never measured. The newest row of each scenario first. */
export function renderCounts(history: readonly CountsRow[]): string[] {
  const scenarios = [...groupBy(rowsOfLatestMachine(history), scenarioKey).values()];
  if (scenarios.length === 0) return [];
  const older = scenarios.flatMap((rows) => rows.slice(0, -1)).toSorted((a, b) => b.date.localeCompare(a.date));
  return [
    '## Counts over HTTP',
    '',
    'The counts API beside a service that sends one statement per request, on one PostgreSQL with fsync on. Service,',
    'database and client share this machine and are held to no limits (`npx quotadb bench counts`). Client `own` sends at an',
    'even pace, and a latency counts from when its request was due; the others send the next request after the answer.',
    'How much of the machine stayed idle is part of newer rows: little of it means that other programs took their part.',
    '',
    ...table(scenarios),
    '',
    ...(older.length === 0 ? [] : folded(countText(older.length, 'older row'), table(older.map((row) => [row])))),
  ];
}

function scenarioKey({ scenario, items, connections, client, requestedPerSecond }: CountsRow): string {
  return JSON.stringify([scenario, items, connections, client, requestedPerSecond]);
}

const HEADER = ['', 'counts', 'connections', 'client', 'side', 'requests/s', 'p50, ms', 'p99, ms'];

/** A line for each side of the newest row of each scenario; rows come oldest first. */
function table(scenarios: readonly (readonly CountsRow[])[]): string[] {
  const lines = scenarios.flatMap((rows) => {
    const row = rows.at(-1)!;
    const { scenario, items, connections, client, requestedPerSecond, database, rounds, secondsPerRound } = row;
    const name = requestedPerSecond === undefined ? scenario : `${requestedPerSecond.toLocaleString('en-US')}/s`;
    const measured = `${whenText(row)}; ${rounds} × ${secondsPerRound} s; limits: none; PostgreSQL ${database.version}`;
    return Object.entries(row.sides).map(([side, figures], index) => {
      const worst = rows.slice(-ROWS_THAT_COUNT).flatMap(({ sides }) => sides[side]?.latencyMsP99.maximum ?? []);
      return [
        ...(index === 0 ? [name, items.toLocaleString('en-US'), `${connections}`, client] : ['', '', '', '']),
        side,
        Math.round(figures.requestsPerSecond.median).toLocaleString('en-US'),
        figures.latencyMsP50.median.toFixed(1),
        figures.latencyMsP99.median.toFixed(1),
        worst.length === 1 ? '' : Math.max(...worst).toFixed(1),
        figures.latencyMsP999.median.toFixed(1),
        figures.serviceCpuMicrosecondsPerRequest.median.toFixed(1),
        figures.machineIdleShare === undefined ? '' : `${(figures.machineIdleShare.median * 100).toFixed(0)} %`,
        index === 0 ? measured : '',
      ];
    });
  });
  const header = [
    ...HEADER,
    `worst p99 of the last ${ROWS_THAT_COUNT}`,
    'p99.9, ms',
    'service CPU, µs',
    'machine idle',
    'measured',
  ];
  return markdownTable(header, [0, 3, 4, 12], lines);
}
