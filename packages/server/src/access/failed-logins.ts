import type { Clock } from '@quotadb/resp';

/** No user has a longer name: the rest of one is not kept. */
const NAME_LENGTH = 65;

interface Failures {
  readonly count: number;
  readonly atMs: number;
  /** The next guess is checked from then on. */
  readonly notBeforeMs: number;
}

/**
 * Recent failed logins. Each doubles the time until the next attempt is checked, right or wrong, over all connections:
 *
 *   of            | first  | longest | so at most, for ever
 *   --------------|--------|---------|------------------------
 *   host and name | 100 ms | 1 s     | one guess a second
 *   host          | 10 ms  | 500 ms  | two guesses a second, whatever the names
 *
 * Another host is never made to wait by it. Who shares a host and a name with a guesser waits with it, which is why the
 * longest delays are no longer: programs on one machine, or behind one address, are one host. A right password ends the
 * wait for its host and name.
 */
export class FailedLogins {
  static readonly FIRST_DELAY_MS = 100;
  static readonly LONGEST_DELAY_MS = 1000;
  static readonly FIRST_HOST_DELAY_MS = 10;
  static readonly LONGEST_HOST_DELAY_MS = 500;
  /** After this time without a failure the delays start again from the first. */
  static readonly RESET_AFTER_MS = 15 * 60_000;
  /** Hosts, and names of hosts, that are kept; past it the one that failed longest ago is dropped. */
  static readonly MAXIMUM_KEPT = 10_000;

  total = 0;
  private readonly clock: Clock;
  /** Oldest failure first. */
  private readonly hosts = new Map<string, Failures>();
  private readonly names = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Counts a failure; returns the recent ones of this host and name, and how long until its next guess. */
  record(host: string, name: string): { readonly failures: number; readonly delayMs: number } {
    this.total++;
    const { FIRST_DELAY_MS, LONGEST_DELAY_MS, FIRST_HOST_DELAY_MS, LONGEST_HOST_DELAY_MS } = FailedLogins;
    this.add(this.hosts, host, FIRST_HOST_DELAY_MS, LONGEST_HOST_DELAY_MS);
    const { count, atMs, notBeforeMs } = this.add(this.names, keyOf(host, name), FIRST_DELAY_MS, LONGEST_DELAY_MS);
    return { failures: count, delayMs: notBeforeMs - atMs };
  }

  /** When the next attempt may be checked. */
  notBeforeMs(host: string, name: string): number {
    return Math.max(this.hosts.get(host)?.notBeforeMs ?? 0, this.names.get(keyOf(host, name))?.notBeforeMs ?? 0);
  }

  hasFailed(host: string): boolean {
    return this.isRecent(this.hosts.get(host));
  }

  /** The password was right. Other names of the host, and the host itself, may still be guessing. */
  clear(host: string, name: string): void {
    this.names.delete(keyOf(host, name));
  }

  get hostCount(): number {
    return this.hosts.size;
  }

  private add(kept: Map<string, Failures>, key: string, firstMs: number, longestMs: number): Failures {
    const atMs = this.clock.monotonic();
    const known = kept.get(key);
    const count = known !== undefined && this.isRecent(known) ? known.count + 1 : 1;
    const failures = { count, atMs, notBeforeMs: atMs + Math.min(firstMs * 2 ** (count - 1), longestMs) };
    kept.delete(key);
    kept.set(key, failures);
    if (kept.size > FailedLogins.MAXIMUM_KEPT) {
      const [oldest] = kept.keys();
      kept.delete(oldest);
    }
    return failures;
  }

  private isRecent(known: Failures | undefined): boolean {
    return known !== undefined && this.clock.monotonic() - known.atMs < FailedLogins.RESET_AFTER_MS;
  }
}

function keyOf(host: string, name: string): string {
  return `${host} ${name.slice(0, NAME_LENGTH)}`;
}
