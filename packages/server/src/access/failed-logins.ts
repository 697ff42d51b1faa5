import type { Clock } from '@quotadb/resp';

/** Recent failed logins by address: each failure doubles the delay of the next refusal. */
export class FailedLogins {
  static readonly FIRST_DELAY_MS = 100;
  static readonly LONGEST_DELAY_MS = 5000;
  /** After this time without a failure an address starts again from the first delay. */
  static readonly RESET_AFTER_MS = 15 * 60_000;
  /** Addresses kept; past it the one that failed longest ago is dropped. */
  static readonly MAXIMUM_ADDRESSES = 10_000;

  total = 0;
  private readonly clock: Clock;
  /** Oldest failure first. */
  private readonly addresses = new Map<string, { failures: number; atMs: number }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Counts a failure; returns the recent failures of this address and the delay of its refusal. */
  record(address: string): { readonly failures: number; readonly delayMs: number } {
    this.total++;
    const nowMs = this.clock.monotonic();
    const known = this.addresses.get(address);
    const isRecent = known !== undefined && nowMs - known.atMs < FailedLogins.RESET_AFTER_MS;
    const failures = isRecent ? known.failures + 1 : 1;
    this.addresses.delete(address);
    this.addresses.set(address, { failures, atMs: nowMs });
    if (this.addresses.size > FailedLogins.MAXIMUM_ADDRESSES) {
      const [oldest] = this.addresses.keys();
      this.addresses.delete(oldest);
    }
    const delayMs = Math.min(FailedLogins.FIRST_DELAY_MS * 2 ** (failures - 1), FailedLogins.LONGEST_DELAY_MS);
    return { failures, delayMs };
  }

  get addressCount(): number {
    return this.addresses.size;
  }
}

/** host:port without the port. */
export function hostOf(address: string): string {
  return address.slice(0, Math.max(address.lastIndexOf(':'), 0)) || address;
}
