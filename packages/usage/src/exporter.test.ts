import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '@quotadb/engine';
import { type LimitWindow, type Policy, type Windows, windowAt } from '@quotadb/quota';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UsageExporter } from './exporter.js';
import { QuotaNames } from './quota-names.js';
import type { Sink } from './sink.js';
import { Spool } from './spool.js';
import { UsageCounter } from './usage-counter.js';
import type { UsageEvent } from './usage-event.js';

const START_MS = 1_763_000_040_000;
const WINDOW_MS = 60_000;
const policy: Policy = {
  number: 7,
  name: 'calls',
  limit: 1_000,
  windowMs: WINDOW_MS,
  allocator: 'eu',
  shares: [],
  waitMs: 0,
  definedMs: START_MS,
  starters: [],
};
const WINDOW = Math.floor(START_MS / WINDOW_MS);
const CLOSED_MS = (WINDOW + 1) * WINDOW_MS + 2_000;

let directory: string;
let engine: Engine;
let counter: UsageCounter;
let nowMs: number;
let delivered: UsageEvent[];
let reservations: Map<string, number>;
const running: UsageExporter[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-usage-'));
  const origin = Uint8Array.from({ length: 32 }, (_, index) => index);
  engine = Engine.format({ maxMemoryBytes: 16 * 1024 * 1024, origin, nowMs: START_MS });
  counter = new UsageCounter(engine);
  nowMs = START_MS;
  delivered = [];
  reservations = new Map();
});
afterEach(async () => {
  for (const exporter of running.splice(0)) await exporter.stop();
  rmSync(directory, { recursive: true });
});

const bytes = (subject: string) => Uint8Array.from(Buffer.from(subject));
function take(subject: string, amount: number, window = WINDOW): boolean {
  return counter.taken(policy, window, bytes(subject), 0, subject.length, amount);
}
const giveBack = (subject: string, amount: number) =>
  counter.returned(policy, { policy: 7, window: WINDOW, subject: bytes(subject) }, amount);

const collecting: Sink = {
  async deliver(_, events) {
    delivered.push(...events);
  },
};

interface Parts {
  readonly sink?: Sink;
  readonly sync?: () => Promise<void>;
  readonly maximumSpoolBytes?: number;
  readonly policies?: () => readonly Policy[];
  readonly otherWindows?: () => readonly Windows[];
}

function start(options: Parts = {}): UsageExporter {
  const {
    sink = collecting,
    sync = async () => undefined,
    maximumSpoolBytes = 1e9,
    policies = () => [policy],
    otherWindows = () => [],
  } = options;
  const exporter = new UsageExporter({
    engine,
    cluster: 'test',
    region: 'eu',
    spool: new Spool(directory),
    sink,
    names: new QuotaNames(directory),
    maximumSpoolBytes,
    policies,
    otherWindows,
    openReservations: () => reservations,
    sync,
    advance: () => engine.advanceTo(nowMs),
    onTrouble: () => undefined,
  });
  running.push(exporter);
  exporter.start();
  return exporter;
}
/** The disk never answers, and the process ends. Whether the disk has the change of the counters is open then. */
async function killAfterNoting(): Promise<void> {
  const exporter = start({ sync: () => new Promise(() => undefined) });
  await eventually(() => expect(readdirSync(directory).some((name) => name.endsWith('.noted'))).toBe(true));
  // It waits for the disk for ever.
  void exporter.stop();
  running.length = 0;
}

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 20 });
const used = () => delivered.map(({ subject, data }) => [subject, data.used]).sort();

test('each closed window of each subject is one event, with the tokens that were taken less those that came back', async () => {
  take('alice', 5);
  take('alice', 7);
  take('bob', 2 ** 40);
  giveBack('alice', 4);
  take('carol', 1, WINDOW + 1);
  nowMs = CLOSED_MS;
  start();
  await eventually(() =>
    expect(used()).toEqual([
      ['alice', 8],
      ['bob', 2 ** 40],
    ]),
  );
  expect(delivered[0]).toMatchObject({
    specversion: '1.0',
    source: 'quotadb/test/eu',
    type: 'quotadb.quota.used',
    time: new Date((WINDOW + 1) * WINDOW_MS - 1).toISOString(),
    data: {
      quota: 'calls',
      region: 'eu',
      windowStart: new Date(WINDOW * WINDOW_MS).toISOString(),
      windowEnd: new Date((WINDOW + 1) * WINDOW_MS).toISOString(),
    },
  });
  nowMs = CLOSED_MS + WINDOW_MS;
  await eventually(() =>
    expect(used()).toEqual([
      ['alice', 8],
      ['bob', 2 ** 40],
      ['carol', 1],
    ]),
  );
  expect(new Set(delivered.map(({ id }) => id)).size).toBe(3);
});

test('a window of the calendar is exported with the start and end that its time zone gives it', async () => {
  const calendar = { unit: 'month', timeZone: 'Europe/Berlin', anchorDay: 1 } as const;
  const monthly = { ...policy, number: 8, name: 'monthly', calendar };
  counter.taken(monthly, windowAt(monthly, START_MS), bytes('alice'), 0, 5, 9);
  nowMs = Date.parse('2025-12-01T00:00:00Z');
  start({ policies: () => [monthly] });
  await eventually(() => expect(used()).toEqual([['alice', 9]]));
  expect(delivered[0]?.data).toMatchObject({
    windowStart: '2025-10-31T23:00:00.000Z',
    windowEnd: '2025-11-30T23:00:00.000Z',
  });
});

describe('a limit with a fixed window', () => {
  const startMs = WINDOW * WINDOW_MS;
  const endMs = startMs + WINDOW_MS;
  const windowOf = (subject: string, more: Partial<LimitWindow> = {}): LimitWindow => ({
    limit: 'hits',
    startMs,
    endMs,
    subject: bytes(subject),
    ...more,
  });

  test('each closed window of each subject is one event, with the name of the limit', async () => {
    counter.admitted(windowOf('alice'), 5);
    counter.admitted(windowOf('alice'), 2 ** 40);
    counter.admitted(windowOf('alice', { limit: 'hit' }), 1);
    counter.admitted(windowOf('bob'), 3);
    counter.withdrawn(windowOf('bob'), 1);
    // The window of the limit was changed in its first minute.
    counter.admitted(windowOf('alice', { endMs: startMs + 3 * WINDOW_MS }), 4);
    take('alice', 6);
    nowMs = CLOSED_MS;
    start();
    const found = () => delivered.map(({ subject, data }) => [data.limit ?? data.quota, subject, data.used]).sort();
    const closed = [
      ['calls', 'alice', 6],
      ['hit', 'alice', 1],
      ['hits', 'alice', 2 ** 40 + 5],
      ['hits', 'bob', 2],
    ];
    await eventually(() => expect(found()).toEqual(closed));
    expect(delivered.find(({ subject }) => subject === 'bob')).toMatchObject({
      type: 'quotadb.limit.used',
      data: { windowStart: new Date(startMs).toISOString(), windowEnd: new Date(endMs).toISOString() },
    });
    nowMs += 2 * WINDOW_MS;
    await eventually(() => expect(found()).toEqual([...closed, ['hits', 'alice', 4]].sort()));
    expect(new Set(delivered.map(({ id }) => id)).size).toBe(5);
  });

  test('a crash after the events were noted, and before the disk had the counters, exports them once', async () => {
    counter.admitted(windowOf('alice'), 5);
    nowMs = CLOSED_MS;
    await killAfterNoting();
    start();
    await eventually(() => expect(used()).toEqual([['alice', 5]]));
  });

  test('a short window is exported when it ends, not at the next pass that is made in any case', async () => {
    const second = { ...policy, number: 0, name: 'hits', windowMs: 1_000 };
    let otherWindows: readonly Windows[] = [];
    start({ policies: () => [], otherWindows: () => otherWindows });
    for (let turn = 0; turn < 2; turn++) {
      nowMs++;
      await eventually(() => expect(engine.nowMs).toBe(nowMs));
    }
    otherWindows = [second];
    const beginsMs = Math.floor(nowMs / 1_000) * 1_000;
    counter.admitted(windowOf('alice', { startMs: beginsMs, endMs: beginsMs + 1_000 }), 5);
    nowMs = beginsMs + 3_000;
    await eventually(() => expect(used()).toEqual([['alice', 5]]));
  });
});

test('a window waits for reservations that are open, and no other subject does', async () => {
  take('alice', 5);
  take('bob', 6);
  reservations.set(`7:${WINDOW}:alice`, 5);
  nowMs = CLOSED_MS;
  const exporter = start();
  await eventually(() => expect(used()).toEqual([['bob', 6]]));
  expect(exporter.lagMs).toBe(2_000);
  giveBack('alice', 3);
  reservations.clear();
  nowMs += 2_000;
  await eventually(() =>
    expect(used()).toEqual([
      ['alice', 2],
      ['bob', 6],
    ]),
  );
  await eventually(() => expect(exporter.lagMs).toBe(0));
});

test('usage that comes after its window was exported has an event of its own, so that the sum is exact', async () => {
  take('alice', 5);
  nowMs = CLOSED_MS;
  start();
  await eventually(() => expect(used()).toEqual([['alice', 5]]));
  take('alice', 2);
  nowMs += 60_000;
  await eventually(() =>
    expect(used()).toEqual([
      ['alice', 2],
      ['alice', 5],
    ]),
  );
  expect(delivered[0]?.id).not.toBe(delivered[1]?.id);
});

test('an endpoint that took the events and failed gets them again under the same ids', async () => {
  take('alice', 5);
  nowMs = CLOSED_MS;
  const seen: string[][] = [];
  const exporter = start({
    sink: {
      async deliver(_, events) {
        seen.push(events.map((event) => JSON.stringify(event)));
        if (seen.length < 3) throw new Error('500');
      },
    },
  });
  await eventually(() => expect(seen).toHaveLength(3));
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[2]).toEqual(seen[0]);
  await eventually(() => expect(exporter.figures).toEqual({ events: 1, failures: 2, isUp: true }));
});

test('a crash after the events were noted, and before the disk had the counters, exports them once', async () => {
  take('alice', 5);
  nowMs = CLOSED_MS;
  await killAfterNoting();
  start();
  await eventually(() => expect(used()).toEqual([['alice', 5]]));
  expect(readdirSync(directory).filter((name) => /noted|ready/.test(name))).toEqual([]);
});

test('events that were noted, but not taken out of the counters that the disk has, are made anew', async () => {
  take('alice', 5);
  nowMs = CLOSED_MS;
  await killAfterNoting();
  // The disk has the store as it was before.
  engine = Engine.format({
    maxMemoryBytes: 16 * 1024 * 1024,
    origin: Uint8Array.from({ length: 32 }, (_, index) => index),
    nowMs: START_MS,
  });
  counter = new UsageCounter(engine);
  take('alice', 5);
  start();
  await eventually(() => expect(used()).toEqual([['alice', 5]]));
});

test('while the spool is full usage stays in the store, and lag shows it', async () => {
  for (let index = 0; index < 1_200; index++) take(`subject ${index}`, 1);
  nowMs = CLOSED_MS;
  let isAway = true;
  const exporter = start({
    maximumSpoolBytes: 1_000,
    sink: {
      async deliver(_, events) {
        if (isAway) throw new Error('away');
        delivered.push(...events);
      },
    },
  });
  await eventually(() => expect(exporter.figures.failures).toBeGreaterThan(0));
  nowMs += 30_000;
  expect(exporter.lagMs).toBeGreaterThanOrEqual(2_000);
  expect(readdirSync(directory).filter((name) => name.endsWith('.ready')).length).toBeLessThanOrEqual(2);
  isAway = false;
  await eventually(() => {
    nowMs += 2_000;
    expect(delivered).toHaveLength(1_200);
  });
  expect(new Set(delivered.map(({ id }) => id)).size).toBe(1_200);
});

test('windows of a quota that is defined later are exported when they end', async () => {
  let policies: readonly Policy[] = [];
  start({ policies: () => policies });
  // Two turns: the first has made its pass by then.
  for (let turn = 0; turn < 2; turn++) {
    nowMs++;
    await eventually(() => expect(engine.nowMs).toBe(nowMs));
  }
  policies = [policy];
  take('alice', 5);
  nowMs++;
  await eventually(() => expect(new QuotaNames(directory).of(7)).toBe('calls'));
  nowMs = CLOSED_MS;
  await eventually(() => expect(used()).toEqual([['alice', 5]]));
});

test('a quota that was dropped is still exported under its name', async () => {
  take('alice', 5);
  const exporter = start();
  await eventually(() => expect(new QuotaNames(directory).of(7)).toBe('calls'));
  await exporter.stop();
  nowMs = CLOSED_MS;
  start({ policies: () => [] });
  await eventually(() => expect(delivered.map(({ data }) => data.quota)).toEqual(['calls']));
});

test('a file of the spool that is damaged, or of a later release, is named, and nothing is skipped silently', () => {
  writeFileSync(join(directory, '5.ready'), '{"format":2}\n');
  expect(() => new Spool(directory)).toThrow(
    /5\.ready cannot be read \(it has format 2, and this release reads format 1\)/,
  );
  writeFileSync(join(directory, '5.ready'), '{"form');
  expect(() => new Spool(directory)).toThrow(/5\.ready cannot be read .* move it away/);
});
