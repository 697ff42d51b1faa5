/**
 * A limit, and who starts with it. The allocator of a cell holds the limit less what others were promised as their share;
 * everybody else holds nothing until it is granted something.
 */
export interface Policy {
  /** Given once and never again: a policy that is dropped and defined anew has new cells. */
  readonly number: number;
  readonly name: string;
  readonly limit: number;
  /** 0 = the limit holds for ever. */
  readonly windowMs: number;
  /** Who allocates, from which time on. A change is for windows that have not begun anywhere. */
  readonly allocators: readonly AllocatorTerm[];
  readonly shares: readonly Share[];
  /** How long a caller waits for tokens from elsewhere where it does not say; 0 = it is denied at once. */
  readonly waitMs: number;
}

export interface AllocatorTerm {
  readonly fromMs: number;
  readonly region: string;
}

export interface Share {
  readonly region: string;
  /** Of the limit, above 0 and at most 1. */
  readonly fraction: number;
}

/** Amounts are exact in a double, with room for sums of them. */
export const MAXIMUM_LIMIT = 2 ** 50;
export const MAXIMUM_WINDOW_MS = 366 * 24 * 3600 * 1000;

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

export function allocatorOf(policy: Policy, window: number): string {
  const startMs = windowStartMs(policy, window);
  const term = policy.allocators.findLast(({ fromMs }) => fromMs <= startMs);
  return (term ?? policy.allocators[0]).region;
}

/** What a region starts a window with, if it was there to see the window, or the policy, begin. */
export function initialOf(policy: Policy, window: number, region: string): number {
  const promised = (share: Share) => Math.floor(policy.limit * share.fraction);
  const own = policy.shares.filter((share) => share.region === region).reduce((sum, share) => sum + promised(share), 0);
  if (region !== allocatorOf(policy, window)) return own;
  return own + policy.limit - policy.shares.reduce((sum, share) => sum + promised(share), 0);
}
