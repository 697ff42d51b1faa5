import type { MeasureName } from '../results/measures.js';
import type { ResultRow } from '../results/row.js';

/** A run is all rows that were written together. */
export interface Run {
  readonly date: string;
  readonly commit: string;
}

/** Rows worth showing: no smoke runs, and of one kind of machine only, for ratios differ between machines too. */
export function rowsOfLatestMachine(rows: readonly ResultRow[]): ResultRow[] {
  const real = rows.filter((row) => !row.smoke);
  const machineOf = ({ machine }: ResultRow) => `${machine.cpuModel} × ${machine.cpuCount}`;
  return real.filter((row) => machineOf(row) === machineOf(real.at(-1)!));
}

export function runsOf(rows: readonly ResultRow[]): Run[] {
  return [...new Map(rows.map((row) => [row.date, { date: row.date, commit: row.commit }])).values()];
}

/** The newest row of each scenario, in the order the scenarios are listed in. */
export function latestOfEachScenario(rows: readonly ResultRow[]): ResultRow[] {
  const latest = new Map<string, ResultRow>();
  for (const row of rows) latest.set(scenarioKey(row), row);
  return [...latest.values()].sort(
    (a, b) => a.workload.localeCompare(b.workload) || a.connections - b.connections || a.pipeline - b.pipeline,
  );
}

/** The sides are part of it: a run of other lanes or another transport does not replace one of these. */
function scenarioKey(row: ResultRow): string {
  return [row.workload, row.pipeline, row.connections, row.keys, row.client, ...Object.keys(row.sides)].join();
}

export interface Series {
  readonly label: string;
  /** One place per run; undefined where that run did not measure it. */
  readonly ratios: readonly (number | undefined)[];
}

/** How a ratio went over the runs: a line for each of our sides in each of the scenarios that `label` distinguishes. */
export function seriesOf(
  rows: readonly ResultRow[],
  runs: readonly Run[],
  measure: MeasureName,
  label: (row: ResultRow, side: string) => string,
): Series[] {
  const points = rows.flatMap((row) => {
    const ours = Object.entries(row.ratiosToRedis).filter(([side]) => row.sides[side]!.kind === 'quotadb');
    return ours.map(([side, ratios]) => ({ date: row.date, label: label(row, side), ratio: ratios[measure] }));
  });
  const measured = points.filter((point) => point.ratio !== undefined);
  return [...groupBy(measured, (point) => point.label)].map(([name, line]) => ({
    label: name,
    ratios: runs.map(({ date }) => line.findLast((point) => point.date === date)?.ratio),
  }));
}

/** `Map.groupBy`, which Node 20 does not have. */
export function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
