import { signal } from '@preact/signals';
import type { Snapshot } from '../../src/snapshot.js';
import { getJson, NotAllowed, readEvents } from './connection.js';

/** Where snapshots come from: this server, or in the demo each of its regions. */
export interface Source {
  readonly region: string;
  readonly base: string;
}

export interface Sources {
  readonly sources: readonly Source[];
  /** The page can cut links, stop regions and change the traffic. */
  readonly isDemo: boolean;
}

/** A region, as far as the page knows. */
export interface Region {
  readonly source: Source;
  readonly snapshot: Snapshot | null;
  readonly isConnected: boolean;
  readonly history: readonly Point[];
  /** The last snapshots of one process, the newest last: the growth between two is a rate. */
  readonly recent: readonly Snapshot[];
}

export interface Point {
  readonly atMs: number;
  readonly commandsPerSecond: number;
  readonly p99Microseconds: number | null;
  readonly usedBytes: number;
  readonly keys: number;
  /** The greatest lag of any peer with this region's changes. */
  readonly lagMs: number | null;
  readonly tokensPerSecond: number | null;
  readonly ratesDeniedPerSecond: number | null;
  readonly countsPerSecond: number | null;
}

const HISTORY_POINTS = 300;
const RECENT_SNAPSHOTS = 11;
const RETRY_MS = 1000;

export const sources = signal<Sources | null>(null);
export const regions = signal<ReadonlyMap<string, Region>>(new Map());
export const needsToken = signal(false);
/** Why the page shows nothing; empty while it does. */
export const failure = signal('');

/** Begins to read snapshots, and tries again for ever. */
export async function start(): Promise<void> {
  for (;;) {
    try {
      sources.value = await getJson<Sources>('/api/v1/dashboard/sources');
      needsToken.value = false;
      failure.value = '';
      break;
    } catch (error) {
      if (error instanceof NotAllowed) {
        needsToken.value = true;
        return;
      }
      failure.value = 'the server does not answer';
      await later();
    }
  }
  for (const source of sources.value.sources) {
    update(source.region, { source, snapshot: null, isConnected: false, history: [], recent: [] });
    void follow(source);
  }
}

async function follow(source: Source): Promise<void> {
  const controller = new AbortController();
  for (;;) {
    try {
      const address = `${source.base}/api/v1/dashboard/events`;
      await readEvents(address, (data) => take(source, JSON.parse(data) as Snapshot), controller.signal);
    } catch (error) {
      if (error instanceof NotAllowed) needsToken.value = true;
    }
    const region = regions.value.get(source.region);
    if (region !== undefined) update(source.region, { ...region, isConnected: false });
    await later();
  }
}

function take(source: Source, snapshot: Snapshot): void {
  const known = regions.value.get(source.region);
  const before = known?.history ?? [];
  const isSameProcess = known?.snapshot?.server.processId === snapshot.server.processId;
  const recent = [...(isSameProcess ? known.recent : []), snapshot].slice(-RECENT_SNAPSHOTS);
  const lags = snapshot.replication?.peers.map((peer) => peer.lagMs).filter((lag) => lag >= 0) ?? [];
  const point: Point = {
    atMs: snapshot.atMs,
    commandsPerSecond: snapshot.traffic.commandsPerSecond,
    p99Microseconds: snapshot.traffic.p99Microseconds,
    usedBytes: snapshot.memory.usedBytes,
    keys: snapshot.memory.keys,
    lagMs: lags.length === 0 ? null : Math.max(...lags),
    tokensPerSecond: growth(recent, (one) => total(one.quotas, (quota) => quota.tokensTotal), 1),
    ratesDeniedPerSecond: growth(recent, (one) => one.rates.deniedTotal, 1),
    countsPerSecond: growth(recent, (one) => one.counts.changesTotal, 1),
  };
  const history = [...before, point].slice(-HISTORY_POINTS);
  update(source.region, { source, snapshot, isConnected: true, history, recent });
}

/** The growth of a figure per second over the last `over` snapshots; null before there are two. */
export function growth(
  recent: readonly Snapshot[],
  pick: (snapshot: Snapshot) => number,
  over = RECENT_SNAPSHOTS,
): number | null {
  const last = recent.at(-1);
  const first = recent.slice(-1 - over)[0];
  if (last === undefined || first === undefined || last.atMs <= first.atMs) return null;
  return (Math.max(0, pick(last) - pick(first)) * 1000) / (last.atMs - first.atMs);
}

/** The same for all regions together. */
export function growthOfAll(pick: (snapshot: Snapshot) => number, over?: number): number {
  return total([...regions.value.values()], ({ recent, isConnected }) =>
    isConnected ? (growth(recent, pick, over) ?? 0) : 0,
  );
}

/** The regions with a snapshot. */
export function knownRegions(): readonly (Region & { readonly snapshot: Snapshot })[] {
  return [...regions.value.values()].flatMap((region) =>
    region.snapshot === null ? [] : [{ ...region, snapshot: region.snapshot }],
  );
}

export function total<Item>(items: readonly Item[], pick: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + pick(item), 0);
}

/** The CSS variable with the color of a region, the same on all views. */
export function colorOf(region: string): string {
  const names = new Set(regions.value.keys());
  for (const { snapshot } of regions.value.values())
    for (const peer of snapshot?.replication?.peers ?? []) names.add(peer.region);
  const index = [...names].indexOf(region);
  return index === -1 ? '--soft' : COLORS[index % COLORS.length];
}

const COLORS = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5'];

function update(name: string, region: Region): void {
  regions.value = new Map(regions.value).set(name, region);
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RETRY_MS));
}
