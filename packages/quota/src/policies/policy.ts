import {
  CALENDAR_UNIT_MS,
  type Calendar,
  calendarWindowAt,
  calendarWindowEndMs,
  calendarWindowStartMs,
  isCalendarWindow,
  isSameCalendar,
} from '@quotadb/engine';

/** The arguments of QUOTA.DEFINE. */
export interface Definition {
  readonly name: string;
  readonly limit: number;
  /** 0 = the limit holds for ever. */
  readonly windowMs: number;
  /** Windows of the calendar; `windowMs` is then the usual length of one (`calendarWindowMs`). */
  readonly calendar?: Calendar | undefined;
  /**
   * Above 0 the policy limits leases that are held at once, each for at most this long. The home chooses the length of
   * its windows.
   */
  readonly leaseMs?: number | undefined;
  /** The region that starts with the limit. It never changes: a region with an older set would start with it again. */
  readonly allocator: string;
  readonly shares: readonly Share[];
  /** How long a caller waits for tokens of other regions if it does not say; 0 = it is denied at once. */
  readonly waitMs: number;
  /** The part of the limit that a region which cannot reach the allocator admits alone, beyond the limit. */
  readonly admitFraction?: number | undefined;
  /** Other limits for some subjects. */
  readonly overrides?: readonly Override[] | undefined;
}

/** A subject's own limit. An exact subject outdoes a pattern, and a longer pattern a shorter one. */
export interface Override {
  /** In UTF-8, 1 to 1024 bytes. With a trailing `*` it stands for every subject that begins with the rest. */
  readonly subject: string;
  readonly limit: number;
  /** It holds for windows that start at or after this; absent: at once. The latest one that holds is in force. */
  readonly fromMs?: number | undefined;
}

/** Tokens of one subject beside its limit, in one window (QUOTA.EXTRA). */
export interface Extra {
  /** One character a byte (latin1). */
  readonly subject: string;
  readonly window: number;
  readonly amount: number;
  /** The name of the operation that gave it, while that may be repeated, and when that was by the clock of the home. */
  readonly operation?: string | undefined;
  readonly givenMs: number;
}

/**
 * A limit, and the regions that start with it. The allocator starts with the limit less the shares of others; a region
 * without a share has nothing until it is granted tokens.
 */
export interface Policy extends Definition {
  /** Never used again: a policy that is dropped and defined anew has new allotments. */
  readonly number: number;
  /** When it was defined, by the clock of the home. */
  readonly definedMs: number;
  /** The incarnations that ran when it was defined: none before them can have started with it. */
  readonly starters: readonly Starter[];
  /**
   * A quota of this name was dropped then, and its tokens were given out in the windows that had begun: this one begins
   * with the first window after it.
   */
  readonly startsFromMs?: number | undefined;
  /** Of a quota without a window: incarnations that are lost for good, each once, and who has their tokens. */
  readonly inheritances?: readonly Inheritance[] | undefined;
  readonly extras?: readonly Extra[] | undefined;
  /** It is of the catalogue of limits, and changes with that alone. */
  readonly isCatalogued?: true | undefined;
}

/** The tokens of an incarnation that is lost for good are those of another now (QUOTA.REMINT). */
export interface Inheritance {
  /** In hexadecimal, as all of them. */
  readonly from: string;
  readonly to: string;
  /** The incarnations that it may have granted tokens to. */
  readonly grantees: readonly string[];
  /**
   * By shard: the watermarks of its changes, as all regions had them. An heir that has not all of those, because it
   * lost its data, inherits nothing until they have come back. What lies above them was on its disk
   * (pending-remint.ts).
   */
  readonly seen: readonly number[];
}

export interface Share {
  readonly region: string;
  /** Of the limit, above 0 and at most 1. */
  readonly fraction: number;
}

export interface Starter {
  readonly region: string;
  readonly incarnation: string;
}

/** Amounts are exact in a double, with room for sums of them. */
export const MAXIMUM_LIMIT = 2 ** 50;
export const MAXIMUM_WINDOW_MS = 366 * 24 * 3600 * 1000;
export const MAXIMUM_WAIT_MS = 3_600_000;
export const MAXIMUM_LEASE_MS = 24 * 3600 * 1000;
/** How long the answer to an operation is kept under its id. */
export const REPEAT_WINDOW_MS = 600_000;

/** How a limit divides time: a length of 0 is one window that never ends. */
export type Windows = Pick<Policy, 'windowMs' | 'calendar'>;

/** The window that a moment lies in, by the deciding node's clock; its number travels with every token. */
export function windowAt({ windowMs, calendar }: Windows, nowMs: number): number {
  if (calendar !== undefined) return calendarWindowAt(calendar, nowMs);
  return windowMs === 0 ? 0 : Math.floor(nowMs / windowMs);
}

export function windowStartMs({ windowMs, calendar }: Windows, window: number): number {
  if (calendar !== undefined) return calendarWindowStartMs(window);
  return windowMs === 0 ? Number.NEGATIVE_INFINITY : window * windowMs;
}

export function windowEndMs({ windowMs, calendar }: Windows, window: number): number {
  if (calendar !== undefined) return calendarWindowEndMs(window);
  return windowMs === 0 ? Number.POSITIVE_INFINITY : (window + 1) * windowMs;
}

/** Whether a window is one of the policy, by the rules of this region. */
export function isWindowOf({ windowMs, calendar }: Policy, window: number): boolean {
  if (calendar !== undefined) return isCalendarWindow(calendar, window);
  return windowMs === 0 ? window === 0 : Number.isSafeInteger(window);
}

/** The window length of a definition with this calendar: a policy with a calendar has windows, so it is above 0. */
export function calendarWindowMs({ unit }: Calendar): number {
  return CALENDAR_UNIT_MS[unit];
}

/** Whether it limits leases that are held at once. */
export function isLeased({ leaseMs }: Policy): boolean {
  return leaseMs !== undefined && leaseMs > 0;
}

/**
 * How far ahead of the clock tokens are given out. A lease holds tokens of every window that any clock within the bound
 * reaches before it ends; a take is from the current window.
 */
export function reachMs({ leaseMs = 0 }: Policy, skewBoundMs: number): number {
  return leaseMs === 0 ? 0 : leaseMs + skewBoundMs;
}

/** The tokens that a region starts an allotment of this limit with, if it ran when the window, or the policy, began. */
export function initialOf({ shares, allocator }: Policy, region: string, limit: number): number {
  const promised = (share: Share) => Math.floor(limit * share.fraction);
  const own = shares.filter((share) => share.region === region).reduce((sum, share) => sum + promised(share), 0);
  if (region !== allocator) return own;
  return own + limit - shares.reduce((sum, share) => sum + promised(share), 0);
}

/** The regions that start with tokens. */
export function startingRegions({ allocator, shares }: Pick<Policy, 'allocator' | 'shares'>): Set<string> {
  return new Set([allocator, ...shares.map(({ region }) => region)]);
}

/** Whether a definition differs from a policy in nothing but numbers that can be changed. */
export function isAlike(policy: Policy, definition: Definition): boolean {
  return findFixedDifference(policy, definition) === undefined;
}

/** The part of a definition that differs from a policy and cannot be changed while some regions have the old one. */
export function findFixedDifference(policy: Policy, definition: Definition): string | undefined {
  const { windowMs, calendar, leaseMs = 0, allocator, shares } = definition;
  if ((policy.leaseMs ?? 0) !== leaseMs) return 'lease';
  if (leaseMs === 0 && (policy.windowMs !== windowMs || !isSameCalendar(policy.calendar, calendar))) return 'window';
  if (policy.allocator !== allocator) return 'allocator';
  return JSON.stringify(policy.shares) === JSON.stringify(shares) ? undefined : 'shares';
}
