import type { Snapshot } from '@quotadb/dashboard';
import { expect, test } from 'vitest';
import { History } from './history.js';
import { HistoryRing } from './history-ring.js';

const START_MS = 1_800_000_000_000;

interface Figures {
  readonly commands?: number;
  readonly p99?: number | null;
  readonly denied?: number;
  readonly lags?: readonly number[];
}

/** As much of a snapshot as the history reads. */
function snapshotAt(atMs: number, { commands = 0, p99 = null, denied = 0, lags = [] }: Figures): Snapshot {
  return {
    atMs,
    traffic: { commandsPerSecond: commands, p99Microseconds: p99, connections: 3 },
    memory: { usedBytes: 1000, keys: 10 },
    replication: { peers: lags.map((lagMs) => ({ lagMs })) },
    quotas: [],
    limits: [],
    rates: { allowedTotal: 0, deniedTotal: denied },
    counts: { changesTotal: 0 },
  } as unknown as Snapshot;
}

test('a day fits into a fixed piece of memory, whatever happens in it', () => {
  const history = new History();
  const before = history.byteLength;
  for (let second = 0; second < 3 * 3600; second++)
    history.add(snapshotAt(START_MS + second * 1000, { commands: second }));
  expect(history.byteLength).toBe(before);
  expect(before).toBe(155_344);
  expect(history.read('5m')).toMatchObject({ stepMs: 1000 });
  expect(history.read('5m').series.commandsPerSecond).toHaveLength(300);
  expect(history.read('1h').series.commandsPerSecond).toHaveLength(360);
  expect(history.read('24h').series.commandsPerSecond).toHaveLength(90);
});

test('the last five minutes are there by the second, older times in wider steps', () => {
  const history = new History();
  for (let second = 0; second < 900; second++)
    history.add(snapshotAt(START_MS + second * 1000, { commands: second, p99: second === 100 ? 5000 : 10 }));
  const recent = history.read('5m');
  expect(recent.startMs).toBe(START_MS + 600_000);
  expect(recent.series.commandsPerSecond.at(0)).toBe(600);
  expect(recent.series.commandsPerSecond.at(-1)).toBe(899);
  const hour = history.read('1h');
  expect(hour.stepMs).toBe(10_000);
  expect(hour.startMs).toBe(START_MS);
  expect(hour.series.commandsPerSecond.at(1)).toBeCloseTo(14.5);
  expect(hour.series.p99Microseconds.at(10)).toBe(5000);
  expect(history.read('15m').series.commandsPerSecond).toHaveLength(90);
});

test('a server that has run for two minutes shows them by the second, whatever the range', () => {
  const history = new History();
  for (let second = 0; second < 120; second++) history.add(snapshotAt(START_MS + second * 1000, { commands: second }));
  const day = history.read('24h');
  expect(day).toMatchObject({ stepMs: 1000, startMs: START_MS });
  expect(day.series.commandsPerSecond).toHaveLength(120);
});

test('totals become rates, and a total that shrinks is no negative rate', () => {
  const history = new History();
  const denied = [100, 150, 250, 0, 10];
  for (const [second, total] of denied.entries()) history.add(snapshotAt(START_MS + second * 1000, { denied: total }));
  expect(history.read('5m').series.ratesDeniedPerSecond).toEqual([null, 50, 100, 0, 10]);
});

test('the lag is that of the peer that is furthest behind, and is not known where no peer has one', () => {
  const history = new History();
  history.add(snapshotAt(START_MS, { lags: [-1] }));
  history.add(snapshotAt(START_MS + 1000, { lags: [3, 70, -1] }));
  expect(history.read('5m').series.lagMs).toEqual([null, 70]);
});

test('seconds without a sample are gaps, and the rate after a gap is not known', () => {
  const history = new History();
  history.add(snapshotAt(START_MS, { commands: 1, denied: 0 }));
  history.add(snapshotAt(START_MS + 60_000, { commands: 2, denied: 600 }));
  const { commandsPerSecond, ratesDeniedPerSecond } = history.read('5m').series;
  expect(commandsPerSecond).toHaveLength(61);
  expect(commandsPerSecond.filter((value) => value !== null)).toEqual([1, 2]);
  expect(ratesDeniedPerSecond.at(-1)).toBeNull();
});

test('a sample that is late by a moment stands for the second before it, too', () => {
  const history = new History();
  for (const [atMs, commands] of [
    [0, 10],
    [999, 20],
    [2001, 30],
  ])
    history.add(snapshotAt(START_MS + atMs, { commands }));
  expect(history.read('5m').series.commandsPerSecond).toEqual([expect.closeTo(20, 1), 30, 30]);
});

test('a gap longer than the ring leaves nothing of the time before it', () => {
  const ring = new HistoryRing(1000, 5, ['mean']);
  for (let second = 0; second < 5; second++) ring.add(second * 1000, Float64Array.of(second), 1);
  ring.add(100_000, Float64Array.of(7), 1);
  expect(ring.read(0, 5000)).toEqual([Number.NaN, Number.NaN, Number.NaN, Number.NaN, 7]);
});

test('a clock that is set back by an instant changes nothing; set back far, it begins a new past', () => {
  const ring = new HistoryRing(1000, 5, ['highest']);
  ring.add(10_000, Float64Array.of(1), 1);
  ring.add(11_000, Float64Array.of(2), 1);
  ring.add(10_999, Float64Array.of(3), 1);
  expect(ring.read(0, 5000)).toEqual([1, 3]);
  ring.add(2000, Float64Array.of(4), 1);
  expect(ring.read(0, 5000)).toEqual([4]);
  expect(ring.startMs(5000)).toBe(2000);
});
