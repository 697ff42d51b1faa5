import { effect, signal } from '@preact/signals';
import type { History, HistoryField, HistoryRange, Source } from '../../src/snapshot.js';
import { address, chosen } from './address.js';
import { getJson } from './connection.js';
import { type Region, regions, sources } from './regions.js';

/** The past of each region as its server keeps it, for the range that is looked at. */
const past = signal<ReadonlyMap<string, History>>(new Map());

export const RANGES: readonly HistoryRange[] = ['5m', '15m', '1h', '6h', '24h'];
const RANGE_SECONDS: Readonly<Record<HistoryRange, number>> = {
  '5m': 300,
  '15m': 900,
  '1h': 3600,
  '6h': 21_600,
  '24h': 86_400,
};
/** Wide steps are asked for again long before the next one has ended, so that a page is never far behind. */
const SLOWEST_REFRESH_MS = 10_000;

export function range(): HistoryRange {
  return RANGES.find((one) => one === chosen('range')) ?? '5m';
}

/** Asks one region for its past: when it begins to answer, and when another range is chosen. */
export async function loadPast({ region, base }: Source): Promise<void> {
  const wanted = range();
  try {
    const history = await getJson<History>(`${base}/api/v1/dashboard/history?range=${wanted}`);
    if (wanted === range()) past.value = new Map(past.value).set(region, history);
  } catch {
    // The region is shown as silent; its past is asked for when it answers again.
  }
}

/** Follows the range of the address. */
export function followPast(): void {
  let before = range();
  effect(() => {
    void address.value;
    const now = range();
    if (now === before) return;
    before = now;
    past.value = new Map();
    loadAll();
  });
  setInterval(loadAll, SLOWEST_REFRESH_MS);
}

function loadAll(): void {
  for (const source of sources.value?.sources ?? [])
    if (regions.value.get(source.region)?.state === 'connected') void loadPast(source);
}

export interface Series {
  readonly region: string;
  /** By the second from 1970. */
  readonly values: ReadonlyMap<number, number | null>;
}

/** A figure of every region over the range: what its server kept, then what the page has seen since. */
export function seriesOf(field: HistoryField): readonly Series[] {
  const nowSeconds = Math.max(...[...regions.value.values()].map(({ points }) => points.at(-1)?.atMs ?? 0)) / 1000;
  const oldest = nowSeconds - RANGE_SECONDS[range()];
  return [...regions.value.values()].map((region) => ({
    region: region.source.region,
    values: new Map([...kept(region, field), ...seen(region, field)].filter(([second]) => second >= oldest)),
  }));
}

type Valued = readonly [second: number, value: number | null];

/** A young server keeps finer steps than an old one: all lines of a chart have the widest. */
function widestStepMs(): number {
  return Math.max(1000, ...[...past.value.values()].map(({ stepMs }) => stepMs));
}

function kept({ source }: Region, field: HistoryField): Valued[] {
  const history = past.value.get(source.region);
  if (history === undefined) return [];
  const { startMs, stepMs, series } = history;
  const values = series[field].map((value, index): Valued => [(startMs + index * stepMs) / 1000, value]);
  return stepMs < widestStepMs() ? widen(values, widestStepMs() / 1000, field) : values;
}

/** Peaks of these must not vanish; of all others the mean counts. */
const PEAKS: readonly HistoryField[] = ['p99Microseconds', 'usedBytes', 'keys', 'connections', 'lagMs'];

function widen(values: readonly Valued[], stepSeconds: number, field: HistoryField): Valued[] {
  const steps = new Map<number, number[]>();
  for (const [second, value] of values) {
    const step = Math.floor(second / stepSeconds) * stepSeconds;
    const together = steps.get(step) ?? [];
    if (value !== null) together.push(value);
    steps.set(step, together);
  }
  return [...steps].map(([step, together]) => [step, summarize(together, PEAKS.includes(field))]);
}

function summarize(values: readonly number[], isPeak: boolean): number | null {
  if (values.length === 0) return null;
  return isPeak ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** By the second, behind the kept ones; in wide steps the last point alone would be a spike of its own. */
function seen({ source, points }: Region, field: HistoryField): Valued[] {
  if (widestStepMs() > 1000) return [];
  const history = past.value.get(source.region);
  const end = history === undefined ? 0 : history.startMs + history.series[field].length * history.stepMs;
  return points.filter(({ atMs }) => atMs >= end).map((point) => [Math.floor(point.atMs / 1000), point[field]]);
}

/** When the oldest value of the range is from; undefined before there is one. */
export function pastBeginsAt(): number | undefined {
  const starts = [...past.value.values()].map(({ startMs }) => startMs);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

export function rangeMs(): number {
  return RANGE_SECONDS[range()] * 1000;
}
