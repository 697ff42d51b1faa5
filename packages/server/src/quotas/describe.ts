import { type Ledger, type Operations, type Policy, type PolicyBook, windowAt } from '@quotadb/quota';

type Fields = readonly (readonly [string, string | number])[];

/** QUOTA.INFO of a policy. */
export function describePolicy(policy: Policy, book: PolicyBook, nowMs: number): Fields {
  const { number, name, limit, windowMs, leaseMs = 0, allocator, shares, waitMs } = policy;
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
    // A region that has lost its memory begins with nothing in a window that it may have begun before.
    ['starts-here', book.mayStart(policy, windowAt(policy, nowMs)) ? 1 : 0],
  ];
}

/** And of one of its cells, in the window that it is now. */
export function describeCell(
  policy: Policy,
  subject: Uint8Array,
  ledger: Ledger,
  operations: Operations,
  nowMs: number,
): Fields {
  const cell = { policy: policy.number, window: windowAt(policy, nowMs), subject };
  const standing = operations.peek(policy.name, subject);
  if ('error' in standing) return [];
  return [
    ['window', cell.window],
    ['rights-here', ledger.rights(policy, cell)],
    ['pocket-here', ledger.balance(cell)],
    ['remaining-everywhere', standing.remainingEverywhere],
    ['reset-ms', standing.resetMs],
  ];
}
