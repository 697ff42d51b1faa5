import { measureNames, measureOf } from '../results/measures.js';
import { BASELINE, OWN_CLIENT, type ResultRow } from '../results/row.js';
import { leadOf, type Summary, spread } from '../results/summary.js';

/** One scenario for people to read: measures downwards, sides across, and beside each side its ratio to Redis. */
export function formatRow(row: ResultRow): string {
  const baseline = row.sides[BASELINE];
  const names = Object.keys(row.sides);
  const header = ['', ...names.flatMap((name) => titleOf(row, name))];
  const lines = measureNames
    .filter((measure) => names.some((name) => row.sides[name]!.measures[measure] !== undefined))
    .map((measure) => {
      const { title, format, better } = measureOf(measure);
      const figures = names.flatMap((name) => {
        const summary = row.sides[name]!.measures[measure];
        const value = summary === undefined ? '-' : `${format(summary.median)}${spreadText(summary)}`;
        if (name === BASELINE) return [value];
        return [value, ratioText(baseline?.measures[measure], summary, better)];
      });
      return [title, ...figures];
    });
  return [headline(row), ...alignColumns([header, ...lines]), ...clientLimitNote(row), ''].join('\n');
}

const BUSY_CPUS = 0.9;

/** Where the client had no time left and the server did, figures say more about the client. */
function clientLimitNote(row: ResultRow): string[] {
  const limited = Object.keys(row.sides).filter((name) => {
    const { clientBusyCpus, serverBusyCpus } = row.sides[name]!.measures;
    return clientBusyCpus && serverBusyCpus && clientBusyCpus.median >= BUSY_CPUS && serverBusyCpus.median < BUSY_CPUS;
  });
  return limited.length === 0 ? [] : [`The client, not the server, was the limit for: ${limited.join(', ')}.`];
}

export function scenarioTitle(row: ResultRow): string {
  const keys = `${row.workload}, ${row.keys.toLocaleString('en-US')} keys`;
  if (row.pipeline === 0) return keys;
  const connections = `${row.connections} ${row.connections === 1 ? 'connection' : 'connections'}`;
  const sender = row.client === OWN_CLIENT ? '' : `, sent by ${row.client}`;
  return `${keys}, pipeline ${row.pipeline}, ${connections}${sender}`;
}

function headline(row: ResultRow): string {
  return `${scenarioTitle(row)}: ${row.description}`;
}

function titleOf(row: ResultRow, name: string): string[] {
  const title = `${name} ${row.sides[name]!.version}`;
  return name === BASELINE ? [title] : [title, `: ${BASELINE}`];
}

function spreadText(summary: Summary): string {
  return summary.rounds.length > 1 ? ` (${Math.round(spread(summary) * 100)} %)` : '';
}

function ratioText(
  theirs: Summary | undefined,
  ours: Summary | undefined,
  better: 'higher' | 'lower' | undefined,
): string {
  if (!theirs || !ours || !better || theirs.median === 0) return '';
  const ratio = `${(ours.median / theirs.median).toFixed(2)}x`;
  const behind = leadOf(theirs, ours, better);
  const ahead = leadOf(ours, theirs, better);
  if (behind) return `${ratio} behind${behind.doubt && '?'}`;
  return ahead ? `${ratio} ahead${ahead.doubt && '?'}` : `${ratio} equal`;
}

export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}
