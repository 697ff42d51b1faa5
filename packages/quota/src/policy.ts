/** The arguments of QUOTA.DEFINE. */
export interface Definition {
  readonly name: string;
  readonly limit: number;
  /** 0 = the limit holds for ever. */
  readonly windowMs: number;
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

/** The window that a moment lies in, by the deciding node's clock; its number travels with every token. */
export function windowAt(policy: Policy, nowMs: number): number {
  return policy.windowMs === 0 ? 0 : Math.floor(nowMs / policy.windowMs);
}

export function windowStartMs(policy: Policy, window: number): number {
  return policy.windowMs === 0 ? Number.NEGATIVE_INFINITY : window * policy.windowMs;
}

export function windowEndMs(policy: Policy, window: number): number {
  return policy.windowMs === 0 ? Number.POSITIVE_INFINITY : (window + 1) * policy.windowMs;
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

/** The tokens that a region starts a window with, if it ran when the window, or the policy, began. */
export function initialOf(policy: Policy, region: string): number {
  const promised = (share: Share) => Math.floor(policy.limit * share.fraction);
  const own = policy.shares.filter((share) => share.region === region).reduce((sum, share) => sum + promised(share), 0);
  if (region !== policy.allocator) return own;
  return own + policy.limit - policy.shares.reduce((sum, share) => sum + promised(share), 0);
}

/** The regions that start with tokens. */
export function startingRegions({ allocator, shares }: Pick<Policy, 'allocator' | 'shares'>): Set<string> {
  return new Set([allocator, ...shares.map(({ region }) => region)]);
}
