/** What a QUOTA.DEFINE asks for. */
export interface Definition {
  readonly name: string;
  readonly limit: number;
  /** 0 = the limit holds for ever. */
  readonly windowMs: number;
  /**
   * Above 0 it limits what is held at once, not what is used up: how long a lease may hold. What it has for windows is up to
   * the home then.
   */
  readonly leaseMs?: number | undefined;
  /** Where the limit begins. It never changes: a region that has not heard of a change would begin with it a second time. */
  readonly allocator: string;
  readonly shares: readonly Share[];
  /** How long a caller waits for tokens from elsewhere where it does not say; 0 = it is denied at once. */
  readonly waitMs: number;
}

/**
 * A limit, and who starts with it. The allocator of an allotment holds the limit less what others were promised as their share;
 * everybody else holds nothing until it is granted something.
 */
export interface Policy extends Definition {
  /** Given once and never again: a policy that is dropped and defined anew has new allotments. */
  readonly number: number;
  /** When it was defined, by the clock of the home. */
  readonly definedMs: number;
  /** Which lives of which regions were there when it was defined: nobody can have begun with it before them. */
  readonly starters: readonly Starter[];
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

/** The window that a moment lies in: the deciding node's clock says which, and its number travels with every token. */
export function windowAt(policy: Policy, nowMs: number): number {
  return policy.windowMs === 0 ? 0 : Math.floor(nowMs / policy.windowMs);
}

export function windowStartMs(policy: Policy, window: number): number {
  return policy.windowMs === 0 ? Number.NEGATIVE_INFINITY : window * policy.windowMs;
}

export function windowEndMs(policy: Policy, window: number): number {
  return policy.windowMs === 0 ? Number.POSITIVE_INFINITY : (window + 1) * policy.windowMs;
}

/** Whether it limits what is held at once. */
export function isLeased({ leaseMs }: Policy): boolean {
  return leaseMs !== undefined && leaseMs > 0;
}

/**
 * How far ahead of the clock tokens are let go of. A lease holds tokens of every window that any clock within the bound comes
 * to before it ends; everything else takes from the window that it is now.
 */
export function reachMs({ leaseMs = 0 }: Policy, skewBoundMs: number): number {
  return leaseMs === 0 ? 0 : leaseMs + skewBoundMs;
}

/** What a region starts a window with, if it was there to see the window, or the policy, begin. */
export function initialOf(policy: Policy, region: string): number {
  const promised = (share: Share) => Math.floor(policy.limit * share.fraction);
  const own = policy.shares.filter((share) => share.region === region).reduce((sum, share) => sum + promised(share), 0);
  if (region !== policy.allocator) return own;
  return own + policy.limit - policy.shares.reduce((sum, share) => sum + promised(share), 0);
}

/** The regions that start with something. */
export function startingRegions({ allocator, shares }: Pick<Policy, 'allocator' | 'shares'>): Set<string> {
  return new Set([allocator, ...shares.map(({ region }) => region)]);
}
