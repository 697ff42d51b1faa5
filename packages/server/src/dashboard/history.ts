import type { History as HistoryAnswer, HistoryField, HistoryRange, Snapshot } from '@quotadb/dashboard';
import { HistoryRing, type Summary } from './history-ring.js';

const SUMMARIES: Readonly<Record<HistoryField, Summary>> = {
  commandsPerSecond: 'mean',
  p99Microseconds: 'highest',
  usedBytes: 'highest',
  keys: 'highest',
  connections: 'highest',
  lagMs: 'highest',
  takesPerSecond: 'mean',
  takesDeniedPerSecond: 'mean',
  ratesAllowedPerSecond: 'mean',
  ratesDeniedPerSecond: 'mean',
  countsPerSecond: 'mean',
  limitsAllowedPerSecond: 'mean',
  limitsDeniedPerSecond: 'mean',
  limitsShadowDeniedPerSecond: 'mean',
};
const FIELDS = Object.keys(SUMMARIES) as HistoryField[];

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** 1 380 steps in all: each field costs 11 kB for the day. */
const RINGS = [
  { stepMs: SECOND_MS, steps: 300 },
  { stepMs: 10 * SECOND_MS, steps: 360 },
  { stepMs: 2 * MINUTE_MS, steps: 720 },
] as const;
export const RANGES: Readonly<Record<HistoryRange, number>> = {
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
};
/** A sample never stands for longer than this: the time before it is a gap. */
const LONGEST_SAMPLE_MS = 5000;

/** The figures of this server over the last day, in steps that widen. In memory only: a new process begins anew. */
export class History {
  private readonly rings = RINGS.map(({ stepMs, steps }) => new HistoryRing(stepMs, steps, Object.values(SUMMARIES)));
  private readonly sample = new Float64Array(FIELDS.length);
  private before: Totals | undefined = undefined;
  private firstAtMs = Number.NaN;

  get byteLength(): number {
    return this.rings.reduce((sum, ring) => sum + ring.byteLength, this.sample.byteLength);
  }

  add(snapshot: Snapshot): void {
    const now = totalsOf(snapshot);
    const passedMs = this.before === undefined ? 0 : now.atMs - this.before.atMs;
    const isGap = passedMs <= 0 || passedMs > LONGEST_SAMPLE_MS;
    const point = pointOf(snapshot, isGap ? undefined : this.before, now);
    this.before = now;
    // A clock that was set back far begins a new past, as in the rings.
    if (!(snapshot.atMs >= this.firstAtMs)) this.firstAtMs = snapshot.atMs;
    for (const [index, field] of FIELDS.entries()) this.sample[index] = point[field] ?? Number.NaN;
    for (const ring of this.rings) ring.add(snapshot.atMs, this.sample, isGap ? 1 : passedMs);
  }

  read(range: HistoryRange): HistoryAnswer {
    const rangeMs = RANGES[range];
    // A young server has fine steps for all of its past, however long the range.
    const neededMs = Math.min(rangeMs, (this.before?.atMs ?? 0) - this.firstAtMs);
    const ring = this.rings.find(({ spanMs }) => !(spanMs < neededMs)) ?? this.rings[this.rings.length - 1];
    return {
      range,
      stepMs: ring.stepMs,
      startMs: ring.startMs(rangeMs),
      series: Object.fromEntries(
        FIELDS.map((field, index) => [field, ring.read(index, rangeMs).map(toJson)]),
      ) as unknown as HistoryAnswer['series'],
    };
  }
}

interface Totals {
  readonly atMs: number;
  readonly takes: number;
  readonly takesDenied: number;
  readonly ratesAllowed: number;
  readonly ratesDenied: number;
  readonly counts: number;
  readonly limitsAllowed: number;
  readonly limitsDenied: number;
  readonly limitsShadowDenied: number;
}

function totalsOf({ atMs, quotas, limits, rates, counts }: Snapshot): Totals {
  return {
    atMs,
    takes: quotas.reduce((sum, { allowedTotal }) => sum + allowedTotal, 0),
    takesDenied: quotas.reduce((sum, { deniedTotal }) => sum + deniedTotal, 0),
    ratesAllowed: rates.allowedTotal,
    ratesDenied: rates.deniedTotal,
    counts: counts.changesTotal,
    limitsAllowed: limits.reduce((sum, { allowedTotal }) => sum + allowedTotal, 0),
    limitsDenied: limits.reduce((sum, { deniedTotal }) => sum + deniedTotal, 0),
    limitsShadowDenied: limits.reduce((sum, { shadowDeniedTotal }) => sum + shadowDeniedTotal, 0),
  };
}

function pointOf(snapshot: Snapshot, before: Totals | undefined, now: Totals): Record<HistoryField, number | null> {
  const rate = (name: Exclude<keyof Totals, 'atMs'>): number | null => {
    if (before === undefined) return null;
    // A dropped quota takes its total along.
    return (Math.max(0, now[name] - before[name]) * SECOND_MS) / (now.atMs - before.atMs);
  };
  const lags = snapshot.replication?.peers.map(({ lagMs }) => lagMs).filter((lag) => lag >= 0) ?? [];
  return {
    commandsPerSecond: snapshot.traffic.commandsPerSecond,
    p99Microseconds: snapshot.traffic.p99Microseconds,
    usedBytes: snapshot.memory.usedBytes,
    keys: snapshot.memory.keys,
    connections: snapshot.traffic.connections,
    lagMs: lags.length === 0 ? null : Math.max(...lags),
    takesPerSecond: rate('takes'),
    takesDeniedPerSecond: rate('takesDenied'),
    ratesAllowedPerSecond: rate('ratesAllowed'),
    ratesDeniedPerSecond: rate('ratesDenied'),
    countsPerSecond: rate('counts'),
    limitsAllowedPerSecond: rate('limitsAllowed'),
    limitsDeniedPerSecond: rate('limitsDenied'),
    limitsShadowDeniedPerSecond: rate('limitsShadowDenied'),
  };
}

function toJson(value: number): number | null {
  return Number.isNaN(value) ? null : Math.round(value * 1000) / 1000;
}
