import type { LimitsRow } from './limits-row.js';
import { worstOf } from './load-aims.js';
import type { MeasureName } from './measures.js';
import { BASELINE, type ResultRow } from './row.js';
import type { RunStamp } from './stamp.js';

/** The rows that aims are about. */
export interface Records {
  readonly rows: readonly ResultRow[];
  readonly limits: readonly LimitsRow[];
  readonly counts: readonly CountsAtRate[];
}

/** The part of a row of bench/results/counts that an aim is about. */
export interface CountsAtRate extends RunStamp {
  readonly smoke: boolean;
  readonly items: number;
  readonly requestedPerSecond?: number;
  readonly sides: Readonly<Record<string, { readonly latencyMsP99: { readonly maximum: number } }>>;
}

/** An aim for one figure of a run. */
export interface FigureAim {
  readonly title: string;
  readonly better: 'higher' | 'lower';
  readonly bound: number;
  readonly unit: '×' | ' s' | ' ms';
  /** In rows, oldest first; of several in a run the worst counts. */
  readonly figures: (records: Records) => readonly Figure[];
}

export type Figure = readonly [row: RunStamp, value: number];

const TEN_MILLION = 10_000_000;
const LAG_RATE = '25000/s';

/** Our medians over Redis's in the rows of a workload; of one number of lanes where there are several. */
const ratiosOf = (workload: string, measure: MeasureName, keys?: number) => {
  return ({ rows }: Records): Figure[] =>
    rows
      .filter((row) => row.workload === workload && (keys === undefined || row.keys === keys))
      .flatMap((row) => valuesOf(row.ratiosToRedis, measure).map((ratio): Figure => [row, ratio]));
};

function valuesOf(ratios: ResultRow['ratiosToRedis'], measure: MeasureName): number[] {
  return Object.entries(ratios).flatMap(([side, { [measure]: ratio }]) => {
    return ratio === undefined || !side.startsWith('quotadb') ? [] : [ratio];
  });
}

/** The p99 of counts at a constant rate, where the items are as many as the aim is about. */
const countsP99 = (perSecond: number, isMeant: (items: number) => boolean) => {
  return ({ counts }: Records): Figure[] =>
    counts.flatMap((row): Figure[] => {
      const p99 = row.sides.quotadb?.latencyMsP99.maximum;
      const counts = !row.smoke && row.requestedPerSecond === perSecond && isMeant(row.items);
      return counts && p99 !== undefined ? [[row, p99]] : [];
    });
};

/** A workload's throughput over that of another workload in the same run, with the same side and pipeline. */
const throughputOver = (workload: string, base: string) => {
  return ({ rows }: Records): Figure[] =>
    rows
      .filter((row) => row.workload === workload)
      .flatMap((row) => {
        const other = rows.find(
          ({ date, workload: name, pipeline }) => date === row.date && name === base && pipeline === row.pipeline,
        );
        return Object.entries(row.sides).flatMap(([name, side]): Figure[] => {
          const ours = side.measures.throughputPerSecond?.median;
          const theirs = other?.sides[name]?.measures.throughputPerSecond?.median;
          return name === BASELINE || !ours || !theirs ? [] : [[row, ours / theirs]];
        });
      });
};

/** The server CPU of a command over that of INCR. */
const cpuOverIncrement = (command: string) => {
  return ({ limits }: Records): Figure[] =>
    limits.flatMap((row) =>
      Object.entries(row.ratios ?? {}).flatMap(([side, { serverCpuMicrosecondsPerOperation: ratio }]): Figure[] => {
        return side.startsWith(`${command}, pipeline`) && ratio !== undefined ? [[row, ratio]] : [];
      }),
    );
};

const memoryAims = [
  ['memory', 'without TTL'],
  ['memory-expiring', 'with TTL'],
].flatMap(([workload, title]) =>
  [1_000_000, TEN_MILLION].map(
    (keys): FigureAim => ({
      title: `resident bytes per key, ${keys / 1_000_000} M keys ${title}, over Redis's`,
      better: 'lower',
      bound: 0.85,
      unit: '×',
      figures: ratiosOf(workload!, 'residentBytesPerKey', keys),
    }),
  ),
);

export const figureAims: readonly FigureAim[] = [
  {
    title: 'throughput with --fsync 100 over that in memory',
    better: 'higher',
    bound: 0.9,
    unit: '×',
    figures: throughputOver('durability-100ms', 'durability-memory'),
  },
  {
    title: "throughput with --fsync never over Redis's with appendfsync no",
    better: 'higher',
    bound: 1,
    unit: '×',
    figures: ratiosOf('durability-never', 'throughputPerSecond'),
  },
  {
    title: "loading 10 M keys from disk, time over Redis's",
    better: 'lower',
    bound: 0.5,
    unit: '×',
    figures: ratiosOf('durability-recovery', 'loadSeconds', TEN_MILLION),
  },
  {
    title: 'start of an empty server until its ready line',
    better: 'lower',
    bound: 0.5,
    unit: ' s',
    figures: ({ rows }) =>
      rows.flatMap((row): Figure[] => {
        const start = row.sides.quotadb?.measures.loadSeconds;
        return row.workload !== 'durability-start' || start === undefined ? [] : [[row, start.median]];
      }),
  },
  {
    title: 'server CPU of QUOTA.TAKE over that of INCR',
    better: 'lower',
    bound: 1.5,
    unit: '×',
    figures: cpuOverIncrement('QUOTA.TAKE'),
  },
  {
    title: 'server CPU of RATE.LIMIT over that of INCR',
    better: 'lower',
    bound: 2,
    unit: '×',
    figures: cpuOverIncrement('RATE.LIMIT'),
  },
  {
    title: "p99 of QUOTA.TAKE over that of Redis's bucket in Lua",
    better: 'lower',
    bound: 1,
    unit: '×',
    figures: ratiosOf('quota-take', 'p99Ms'),
  },
  ...memoryAims,
  {
    title: "INCR in one of three regions over a lone server's, each on its own core",
    better: 'higher',
    bound: 0.85,
    unit: '×',
    figures: ({ rows }) =>
      rows.flatMap((row): Figure[] => {
        const lone = row.sides.lone?.measures.throughputPerSecond;
        const together = row.sides['three regions']?.measures.throughputPerSecond;
        return lone && together ? [[row, together.median / lone.median]] : [];
      }),
  },
  {
    title: 'replication lag p99 at 25,000 increments a second in each of three regions',
    better: 'lower',
    bound: 50,
    unit: ' ms',
    figures: ({ rows }) =>
      rows.flatMap((row): Figure[] => {
        const lag = row.sides['three regions']?.measures.lagP99Ms;
        return lag === undefined || !row.description.includes(`; ${LAG_RATE} `) ? [] : [[row, lag.median]];
      }),
  },
  {
    title: 'counts over HTTP: p99 at 10,000 increments a second',
    better: 'lower',
    bound: 20,
    unit: ' ms',
    figures: countsP99(10_000, (items) => items > 1),
  },
  {
    title: 'counts over HTTP: p99 at 25,000 increments a second of one item',
    better: 'lower',
    bound: 20,
    unit: ' ms',
    figures: countsP99(25_000, (items) => items === 1),
  },
];

/** One figure for each run, oldest first: the worst of its rows. */
export function worstOfEachRun({ figures, better }: FigureAim, records: Records): Figure[] {
  const runs = new Map<string, Figure>();
  for (const [row, value] of figures(records)) {
    const [, before = value] = runs.get(row.date) ?? [];
    runs.set(row.date, [row, worstOf([before, value], better)]);
  }
  return [...runs.values()];
}
