import { signal } from '@preact/signals';
import type { HistoryField, Snapshot, Source, Sources } from '../../src/snapshot.js';
import { forgetCredentials, getJson, hasCredentials, isNotAllowed, readEvents } from './connection.js';

/** A region, as far as the page knows. */
export interface Region {
  readonly source: Source;
  readonly snapshot: Snapshot | null;
  /** `unknown` until it has answered or failed to answer once. */
  readonly state: 'unknown' | 'connected' | 'silent';
  /** Points since the page was opened, the newest last. */
  readonly points: readonly Point[];
  /** The last snapshots of one process, the newest last: the growth between two is a rate. */
  readonly recent: readonly Snapshot[];
}

export type Point = { readonly atMs: number } & Readonly<Record<HistoryField, number | null>>;

const LIVE_POINTS = 300;
const RECENT_SNAPSHOTS = 11;
const RETRY_MS = 1000;

export const sources = signal<Sources | null>(null);
export const regions = signal<ReadonlyMap<string, Region>>(new Map());
export const needsLogin = signal(false);
/** Why the last login was refused; empty before one was tried. */
export const loginTrouble = signal('');
/** Why the page shows nothing; empty while it does. */
export const failure = signal('');

/** Begins to read snapshots, and tries again for ever; `onConnected` hears of every region that begins to answer. */
export async function start(onConnected: (source: Source) => void): Promise<void> {
  for (;;) {
    try {
      sources.value = await getJson<Sources>('/api/v1/dashboard/sources');
      needsLogin.value = false;
      loginTrouble.value = '';
      failure.value = '';
      break;
    } catch (error) {
      if (isNotAllowed(error)) {
        askForLogin(error.status, error.message);
        return;
      }
      failure.value = 'the server does not answer';
      await later();
    }
  }
  for (const source of sources.value.sources) {
    update(source.region, { source, snapshot: null, state: 'unknown', points: [], recent: [] });
    void follow(source, onConnected);
  }
}

const TOO_MANY_LOGINS = 429;
const LOGIN_TROUBLE: Readonly<Record<number, string>> = {
  401: 'Wrong user or password. Check both and try again.',
  [TOO_MANY_LOGINS]: 'Too many failed logins from this address. Wait a moment, then try again.',
};

function askForLogin(status: number, detail: string): void {
  loginTrouble.value = hasCredentials() ? (LOGIN_TROUBLE[status] ?? detail) : '';
  forgetCredentials();
  needsLogin.value = true;
}

async function follow(source: Source, onConnected: (source: Source) => void): Promise<void> {
  for (;;) {
    let isFirst = true;
    try {
      await readEvents(`${source.base}/api/v1/dashboard/events`, (data) => {
        take(source, JSON.parse(data) as Snapshot);
        if (isFirst) onConnected(source);
        isFirst = false;
      });
    } catch (error) {
      // A login follows all regions anew. Where others fail to log in from this address, this page waits.
      if (isNotAllowed(error) && error.status !== TOO_MANY_LOGINS) {
        askForLogin(error.status, error.message);
        return;
      }
    }
    const region = regions.value.get(source.region);
    if (region !== undefined) update(source.region, { ...region, state: 'silent' });
    await later();
  }
}

function take(source: Source, snapshot: Snapshot): void {
  const known = regions.value.get(source.region);
  const isSameProcess = known?.snapshot?.server.processId === snapshot.server.processId;
  const recent = [...(isSameProcess ? known.recent : []), snapshot].slice(-RECENT_SNAPSHOTS);
  const points = [...(known?.points ?? []), pointOf(snapshot, recent)].slice(-LIVE_POINTS);
  update(source.region, { source, snapshot, state: 'connected', points, recent });
}

/** As the server's history has it, but from what the page has seen itself. */
function pointOf(snapshot: Snapshot, recent: readonly Snapshot[]): Point {
  const rate = (pick: (one: Snapshot) => number) => growth(recent, pick, 1);
  return {
    atMs: snapshot.atMs,
    commandsPerSecond: snapshot.traffic.commandsPerSecond,
    p99Microseconds: snapshot.traffic.p99Microseconds,
    usedBytes: snapshot.memory.usedBytes,
    keys: snapshot.memory.keys,
    connections: snapshot.traffic.connections,
    lagMs: greatestLag(snapshot),
    takesPerSecond: rate((one) => total(one.quotas, (quota) => quota.allowedTotal)),
    takesDeniedPerSecond: rate((one) => total(one.quotas, (quota) => quota.deniedTotal)),
    ratesAllowedPerSecond: rate((one) => one.rates.allowedTotal),
    ratesDeniedPerSecond: rate((one) => one.rates.deniedTotal),
    countsPerSecond: rate((one) => one.counts.changesTotal),
    limitsAllowedPerSecond: rate((one) => total(one.limits, (limit) => limit.allowedTotal)),
    limitsDeniedPerSecond: rate((one) => total(one.limits, (limit) => limit.deniedTotal)),
    limitsShadowDeniedPerSecond: rate((one) => total(one.limits, (limit) => limit.shadowDeniedTotal)),
  };
}

/** Of the peers whose lag is known; null where there is none. */
export function greatestLag({ replication }: Snapshot): number | null {
  const lags = replication?.peers.map((peer) => peer.lagMs).filter((lag) => lag >= 0) ?? [];
  return lags.length === 0 ? null : Math.max(...lags);
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
  return total([...regions.value.values()], ({ recent, state }) =>
    state === 'connected' ? (growth(recent, pick, over) ?? 0) : 0,
  );
}

export type KnownRegion = Region & { readonly snapshot: Snapshot };

/** The regions that answer. What a silent one said last is not what it is now. */
export function knownRegions(): readonly KnownRegion[] {
  return [...regions.value.values()].flatMap((region) =>
    region.snapshot === null || region.state !== 'connected' ? [] : [{ ...region, snapshot: region.snapshot }],
  );
}

export function silentRegions(): readonly string[] {
  return [...regions.value.values()].filter(({ state }) => state === 'silent').map(({ source }) => source.region);
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
