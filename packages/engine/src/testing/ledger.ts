/**
 * The oracle's knowledge: every increment ever acknowledged, and the reasons for which it may no longer count.
 *
 * The n-th increment of a key has the amount ±4^n, so a value, read in base 4, says exactly which increments count in
 * it; a digit other than none and once is an increment counted twice.
 */
export interface Increment {
  readonly key: string;
  readonly index: number;
  readonly amount: bigint;
  readonly madeBy: string;
  /** By the clock of the node that made it. */
  readonly madeAtMs: number;
}

const INCREMENTS_PER_KEY = 31;

export class Ledger {
  readonly increments = new Map<string, Increment[]>();
  /** A reset had it in sight: it must not count any more. */
  readonly reset = new Set<Increment>();
  /** The only node that held it lost its memory. */
  readonly mayBeLost = new Set<Increment>();
  /** No node holds it any more, and no memory was lost: it must never be seen again. */
  readonly gone = new Set<Increment>();
  private readonly expiries = new Map<string, { atMs: number; inSight: readonly Increment[] }[]>();

  of(key: string): Increment[] {
    let list = this.increments.get(key);
    if (list === undefined) {
      list = [];
      this.increments.set(key, list);
    }
    return list;
  }

  /** The next increment of a key, or undefined when its digits are used up. */
  next(key: string, negative: boolean, madeBy: string, madeAtMs: number): Increment | undefined {
    const list = this.of(key);
    if (list.length === INCREMENTS_PER_KEY) return undefined;
    const amount = 4n ** BigInt(list.length) * (negative ? -1n : 1n);
    return { key, index: list.length, amount, madeBy, madeAtMs };
  }

  acknowledged(increment: Increment): void {
    this.of(increment.key).push(increment);
  }

  /** An expiry was set on a key by a node that had these increments in sight. */
  noteExpiry(key: string, atMs: number, inSight: readonly Increment[]): void {
    const list = this.expiries.get(key) ?? [];
    list.push({ atMs, inSight });
    this.expiries.set(key, list);
  }

  /**
   * Whether an expiry has passed that was for later than the increment was made, or was set in sight of it. A maker
   * that is no more cannot say that its generation went on after an expiry it had not heard of.
   */
  mayHaveExpired(increment: Increment, nowMs: number, makerIsAlive: boolean): boolean {
    const expiries = this.expiries.get(increment.key) ?? [];
    return expiries.some(
      ({ atMs, inSight }) =>
        atMs <= nowMs && (!makerIsAlive || atMs > increment.madeAtMs || inSight.includes(increment)),
    );
  }

  /** Whether an expiry has passed that was for later than this: it may hide a generation that was born then. */
  hasExpiredSince(key: string, sinceMs: number, nowMs: number): boolean {
    return (this.expiries.get(key) ?? []).some(({ atMs }) => atMs <= nowMs && atMs > sinceMs);
  }

  /** The increments that a value is made of, or the contradiction in it. */
  read(key: string, value: bigint): Increment[] | string {
    const found: Increment[] = [];
    let rest = value;
    for (const increment of this.of(key)) {
      const digit = rest & 3n;
      const once = increment.amount > 0n ? 1n : 3n;
      if (digit === once) {
        found.push(increment);
        rest -= increment.amount > 0n ? 1n : -1n;
      } else if (digit !== 0n) {
        return `increment ${increment.index} of ${key} is not in there once or never: ${value}`;
      }
      rest >>= 2n;
    }
    return rest === 0n ? found : `${key} holds more than was ever added: ${value}`;
  }

  /** The increments inside one component, from its two sums. */
  inComponent(key: string, positive: bigint, negative: bigint): Increment[] {
    return this.of(key).filter(({ index, amount }) => {
      const sum = amount > 0n ? positive : negative;
      return ((sum >> BigInt(2 * index)) & 3n) !== 0n;
    });
  }
}
