import type { MachineDescription } from '../machine/describe.js';
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
  const latest = real.at(-1);
  return latest === undefined ? [] : real.filter((row) => machineKey(row.machine) === machineKey(latest.machine));
}

function machineKey(machine: MachineDescription): string {
  return `${machine.cpuModel} × ${machine.cpuCount}`;
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

/** Who took part is part of it: a run of other lanes or another transport does not replace one of these. */
function scenarioKey(row: ResultRow): string {
  return [row.workload, row.pipeline, row.connections, row.keys, row.client, ...Object.keys(row.sides)].join();
}

export interface Series {
  readonly label: string;
  /** One place per run; undefined where that run did not measure it. */
  readonly ratios: readonly (number | undefined)[];
}

/** How a ratio went over the runs: a line for each of our sides in each of the scenarios that `label` tells apart. */
export function seriesOf(
  rows: readonly ResultRow[],
  runs: readonly Run[],
  measure: MeasureName,
  label: (row: ResultRow, side: string) => string,
): Series[] {
  const lines = new Map<string, (number | undefined)[]>();
  for (const row of rows) {
    const run = runs.findIndex((candidate) => candidate.date === row.date);
    for (const [side, ratios] of Object.entries(row.ratiosToRedis)) {
      const ratio = ratios[measure];
      if (row.sides[side]!.kind !== 'quotadb' || ratio === undefined) continue;
      const name = label(row, side);
      const line = lines.get(name) ?? new Array<number | undefined>(runs.length).fill(undefined);
      line[run] = ratio;
      lines.set(name, line);
    }
  }
  return [...lines].map(([name, ratios]) => ({ label: name, ratios }));
}
