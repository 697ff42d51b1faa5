import { BASELINE, type ResultRow } from './row.js';

/** What QuotaDB wants to be beside Redis under load: a bound for each pipeline, of our figure over Redis's. */
export interface LoadAim {
  readonly title: string;
  readonly measure: 'serverCpuMicrosecondsPerOperation' | 'throughputPerSecond' | 'halfLoadP99Ms';
  readonly better: 'higher' | 'lower';
  /** Whether the figure is of one lane, or of the best of the numbers of lanes that were measured. */
  readonly lanes: 'one' | 'best';
  readonly bounds: Readonly<Record<number, number>>;
}

export const loadAims: readonly LoadAim[] = [
  {
    title: 'Server CPU of an operation, one lane',
    measure: 'serverCpuMicrosecondsPerOperation',
    better: 'lower',
    lanes: 'one',
    bounds: { 1: 0.95, 16: 0.75, 64: 0.65 },
  },
  {
    title: 'Throughput, best number of lanes',
    measure: 'throughputPerSecond',
    better: 'higher',
    lanes: 'best',
    bounds: { 1: 1.05, 16: 1.4, 64: 1.8 },
  },
  {
    title: "p99 at half of Redis's highest throughput, one lane",
    measure: 'halfLoadP99Ms',
    better: 'lower',
    lanes: 'one',
    bounds: { 1: 1, 16: 0.8, 64: 0.6 },
  },
];

/** The scenarios that the aims are about; other numbers of keys are held to the same bounds. */
export const AIM_WORKLOADS: readonly string[] = ['incr-uniform', 'get'];
export const AIM_CONNECTIONS = 50;

/** An aim is met where it is met in this share of the alternations: four of five. */
const MET_SHARE = 0.8;
const ONE_LANE = 'quotadb 1 lane';
const SIDE_OF_LANES = /^quotadb \d+ lanes?$/;

export interface AimResult {
  readonly bound: number;
  /** The side whose figure counts. */
  readonly side: string;
  /** Of medians. */
  readonly ratio: number;
  /** In how many alternations the ratio of that alternation is within the bound. */
  readonly metIn: number;
  readonly alternations: number;
  readonly isMet: boolean;
}

/** How a row stands to an aim; undefined where the row says nothing about it. */
export function resultOf(aim: LoadAim, row: ResultRow): AimResult | undefined {
  const bound = aim.bounds[row.pipeline];
  const theirs = row.sides[BASELINE]?.measures[aim.measure];
  if (bound === undefined || theirs === undefined) return undefined;
  const candidates = sidesFor(aim, row).flatMap((side) => {
    const ours = row.sides[side]!.measures[aim.measure];
    return ours === undefined ? [] : [{ side, ours, ratio: ours.median / theirs.median }];
  });
  // One number of lanes is no choice: whether another would have been better is not known.
  if (candidates.length === 0 || (aim.lanes === 'best' && candidates.length < 2)) return undefined;
  const { side, ours, ratio } = candidates.reduce((best, other) =>
    isBetter(aim, other.ratio, best.ratio) ? other : best,
  );
  const each = ours.rounds.map((figure, round) => figure / theirs.rounds[round]!);
  const metIn = each.filter((one) => one === bound || isBetter(aim, one, bound)).length;
  return { bound, side, ratio, metIn, alternations: each.length, isMet: metIn >= MET_SHARE * each.length };
}

function sidesFor({ lanes }: LoadAim, row: ResultRow): string[] {
  return Object.keys(row.sides).filter((name) => (lanes === 'one' ? name === ONE_LANE : SIDE_OF_LANES.test(name)));
}

export function isBetter({ better }: { readonly better: 'higher' | 'lower' }, one: number, other: number): boolean {
  return better === 'higher' ? one > other : one < other;
}

/** The worst of some figures. */
export function worstOf(figures: readonly number[], better: 'higher' | 'lower'): number {
  return better === 'higher' ? Math.min(...figures) : Math.max(...figures);
}
