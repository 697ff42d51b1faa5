import { type Ledger, type Operations, type Policy, type PolicyBook, windowAt } from '@quotadb/quota';

type Fields = readonly (readonly [string, string | number])[];

/** QUOTA.INFO of a policy. */
export function describePolicy(policy: Policy, book: PolicyBook, nowMs: number): Fields {
  const { number, name, limit, windowMs, leaseMs = 0, allocator, shares, waitMs, calendar } = policy;
  const { overrides = [], extras = [], admitFraction = 0, isCatalogued = false } = policy;
  return [
    ['name', name],
    ['number', number],
    ['limit', limit],
    ['window-ms', windowMs],
    ['lease-ms', leaseMs],
    ['allocator', allocator],
    ['shares', shares.map(({ region, fraction }) => `${region}=${fraction}`).join(' ')],
    ['wait-ms', waitMs],
    ['home', book.home],
    ['policies-version', book.version],
    // A region that lost its data starts without tokens in a window that it may have started before.
    ['starts-here', book.tenure.mayStart(policy, windowAt(policy, nowMs)) ? 1 : 0],
    ['calendar', calendar === undefined ? '' : `${calendar.unit} ${calendar.timeZone} ${calendar.anchorDay}`],
    ['overrides', overrides.length],
    ['extras', extras.length],
    ['admit-fraction', String(admitFraction)],
    ['catalogued', isCatalogued ? 1 : 0],
  ];
}

/** QUOTA.INFO of one allotment of it, in the current window. */
export function describeAllotment(
  policy: Policy,
  subject: Uint8Array,
  ledger: Ledger,
  operations: Operations,
  nowMs: number,
): Fields {
  const allotment = { policy: policy.number, window: windowAt(policy, nowMs), subject };
  const standing = operations.peek(policy.name, subject);
  if ('error' in standing) return [];
  return [
    ['window', allotment.window],
    ['subject-limit', standing.limit],
    ['rights-here', ledger.rights(policy, allotment)],
    // The former name of local-balance-here, for one minor release.
    ['pocket-here', ledger.balance(allotment)],
    ['admitted-here', ledger.admitted(policy, allotment).own],
    ['admitted-everywhere', ledger.admitted(policy, allotment).everywhere],
    ['remaining-everywhere', standing.remainingEverywhere],
    ['reset-ms', standing.resetMs],
    ['local-balance-here', ledger.balance(allotment)],
  ];
}
