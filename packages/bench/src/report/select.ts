import type { MeasureName } from '../results/measures.js';
import type { ResultRow } from '../results/row.js';

/** A run is all rows that were written together. */
export interface Run {
  readonly date: string;
  readonly commit: string;
}

/** Rows worth showing: no smoke runs, and of one kind of machine only, for ratios differ between machines too. */
export function rowsOfLatestMachine<Row extends Pick<ResultRow, 'smoke' | 'machine'>>(rows: readonly Row[]): Row[] {
  const real = rows.filter((row) => !row.smoke);
  const machineOf = ({ machine }: Row) => `${machine.cpuModel} × ${machine.cpuCount}`;
  return real.filter((row) => machineOf(row) === machineOf(real.at(-1)!));
}

export function runsOf(rows: readonly ResultRow[]): Run[] {
  return [...new Map(rows.map((row) => [row.date, { date: row.date, commit: row.commit }])).values()];
}

/** What was measured more than once in the same way. */
export interface Scenario {
  readonly newest: ResultRow;
  /** Newest first. */
  readonly older: readonly ResultRow[];
}

/** All scenarios, in the order they are listed in; rows come oldest first. */
export function scenariosOf(rows: readonly ResultRow[]): Scenario[] {
  const scenarios = [...groupBy(rows, scenarioKey).values()].map((group): Scenario => {
    const [newest, ...older] = group.toReversed();
    return { newest: newest!, older };
  });
  return scenarios.sort(
    ({ newest: a }, { newest: b }) =>
      a.workload.localeCompare(b.workload) ||
      a.connections - b.connections ||
      a.keys - b.keys ||
      a.client.localeCompare(b.client) ||
      a.pipeline - b.pipeline,
  );
}

/**
 * How many lanes took part is not part of it, so a newer run of other lanes is newer; another transport, or a load that
 * is described in other words, is another scenario.
 */
function scenarioKey({ workload, description, pipeline, connections, keys, client, sides }: ResultRow): string {
  const ours = Object.keys(sides).filter((name) => sides[name]!.kind === 'quotadb');
  const settings = new Set(ours.map((name) => name.replace(/ \d+ lanes?/, '')));
  return JSON.stringify([workload, description, pipeline, connections, keys, client, ...settings]);
}

/** How many of the newest rows a figure of the record is the worst of. */
export const ROWS_THAT_COUNT = 3;

/** The ratio to Redis of a side in the newest rows that have it, newest first. */
export function recentRatios({ newest, older }: Scenario, side: string, measure: MeasureName): number[] {
  const ratios = [newest, ...older].map((row) => row.ratiosToRedis[side]?.[measure]);
  return ratios.filter((ratio) => ratio !== undefined).slice(0, ROWS_THAT_COUNT);
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
