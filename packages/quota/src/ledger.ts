import { type Engine, LocalBalances, OWN_ORIGIN, Status, splitInt64 } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from './allotment.js';
import { initialOf, type Policy, reachMs, windowEndMs, windowStartMs } from './policy.js';
import type { PolicyBook } from './policy-book.js';

/** Where a change will be found: it is on disk, and may be told, when the disk has come this far in this shard. */
export interface ChangeMark {
  readonly shard: number;
  readonly version: number;
}

export interface LedgerOptions {
  readonly engine: Engine;
  readonly region: string;
  readonly book: PolicyBook;
  /** How long the traces of a window stay after it: longer than clocks differ. */
  readonly skewBoundMs: number;
}

/**
 * What this node holds of quota allotments, and the only place that changes it. For every allotment and origin i
 *
 *   rights(i) = initial(i) + Σ granted to i − Σ granted by i − marked(i) ≥ 0
 *
 * and i alone takes from rights(i): by granting some of it to another, or by marking it and putting it into its pocket. All
 * of it but the pocket are counters that only their origin writes. Nothing in a pocket was not marked before; so what
 * is spent everywhere never comes to more than the limit.
 */
export class Ledger {
  private readonly options: LedgerOptions;
  private readonly engine: Engine;
  private readonly key = new AllotmentKey();
  readonly pockets: LocalBalances;
  private readonly ownOrigin: Uint8Array;

  constructor(options: LedgerOptions) {
    this.options = options;
    this.engine = options.engine;
    this.pockets = new LocalBalances(options.engine);
    this.ownOrigin = Uint8Array.from(options.engine.origins.idOf(OWN_ORIGIN));
  }

  /** What this node may still grant or mark. Below 0 after a limit was lowered. */
  rights(policy: Policy, allotment: Allotment): number {
    const { region, book } = this.options;
    const initial = book.mayStart(policy, allotment.window) ? initialOf(policy, region) : 0;
    const rights = initial + this.received(allotment) - this.granted(allotment) - this.marked(allotment);
    // Looked at last: a clock that jumped ahead has made this node forget what it granted and marked, and not that it began.
    return this.isForgotten(policy, allotment) || this.isAhead(policy, allotment) ? 0 : rights;
  }

  /**
   * No clock within the bound can have come to this window, nor a lease reach into it. Whoever asks for it all the same is wrong; and the next life of
   * this node may begin with it, which is only safe because this one has let go of nothing.
   */
  private isAhead(policy: Policy, allotment: Allotment): boolean {
    const { skewBoundMs } = this.options;
    return windowStartMs(policy, allotment.window) > this.engine.nowMs + skewBoundMs + reachMs(policy, skewBoundMs);
  }

  /** By this node's clock, now or before it was set back, the traces of the allotment are gone. */
  private isForgotten(policy: Policy, allotment: Allotment): boolean {
    const goneMs = this.goneMs(policy, allotment);
    return this.engine.nowMs >= goneMs || this.options.book.grantees.forgottenUpToMs >= goneMs;
  }

  /** From then on nothing is known of the allotment. */
  private goneMs(policy: Policy, allotment: Allotment): number {
    return windowEndMs(policy, allotment.window) + this.options.skewBoundMs;
  }

  /** Sets tokens aside to spend here. They may go into the pocket when the mark is on disk. */
  mark(policy: Policy, allotment: Allotment, amount: number): ChangeMark | undefined {
    if (amount > this.rights(policy, allotment)) throw new Error('more is marked than is held');
    return this.add(policy, allotment, this.key.marksOf(allotment), amount);
  }

  /** Takes unspent tokens out of the pocket, as many as there are and are asked for, and makes them rights again. */
  takeBack(policy: Policy, allotment: Allotment, atMost: number): number {
    const { input, length } = this.key.marksOf(allotment);
    this.pockets.open(input, 0, length);
    const amount = Math.min(this.pockets.balance, atMost);
    if (amount > 0) this.pockets.give(-amount);
    this.pockets.close();
    if (amount <= 0) return 0;
    return this.add(policy, allotment, this.key.marksOf(allotment), -amount) === undefined ? 0 : amount;
  }

  /** Takes back a mark that nothing was put into the pocket for. */
  unmark(policy: Policy, allotment: Allotment, amount: number): void {
    this.add(policy, allotment, this.key.marksOf(allotment), -amount);
  }

  /** Gives rights to another origin; undefined where that is not possible. It can be told when it is on disk: replication sees to that. */
  grant(policy: Policy, allotment: Allotment, to: Uint8Array, amount: number): ChangeMark | undefined {
    if (amount > this.rights(policy, allotment)) throw new Error('more is granted than is held');
    if (!this.options.book.grantees.note(to, this.goneMs(policy, allotment), this.engine.nowMs)) return undefined;
    return this.add(policy, allotment, this.key.grantsTo(allotment, to), amount);
  }

  /** Puts marked tokens into the pocket; false where there is no memory for one. */
  fill(policy: Policy, allotment: Allotment, amount: number): boolean {
    const reserve = Math.max(0, this.rights(policy, allotment));
    const { input, length } = this.key.marksOf(allotment);
    this.pockets.open(input, 0, length);
    const isFilled = this.pockets.give(amount);
    this.pockets.denyUntil(0);
    this.pockets.note(reserve, Math.floor(this.pockets.balance / 2));
    this.pockets.close();
    return isFilled;
  }

  /** Whoever asks before this time is told that there is nothing. */
  deny(policy: Policy, allotment: Allotment, untilMs: number): void {
    const { input, length } = this.key.marksOf(allotment);
    this.pockets.open(input, 0, length);
    const isThere = this.engine.exists;
    this.pockets.close();
    if (!isThere && this.add(policy, allotment, this.key.marksOf(allotment), 0) === undefined) return;
    this.pockets.open(input, 0, this.key.marksOf(allotment).length);
    this.pockets.denyUntil(untilMs);
    this.pockets.note(0, 0);
    this.pockets.close();
  }

  balance(allotment: Allotment): number {
    const { input, length } = this.key.marksOf(allotment);
    this.pockets.open(input, 0, length);
    const { balance } = this.pockets;
    this.pockets.close();
    return balance;
  }

  private received(allotment: Allotment): number {
    const { engine } = this;
    const { input, length } = this.key.grantsTo(allotment, this.ownOrigin);
    engine.openAny(input, 0, length);
    const received = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    engine.close();
    return received;
  }

  /** To everybody: of these counters only the own part. */
  private granted(allotment: Allotment): number {
    const { engine } = this;
    let granted = 0;
    for (const origin of this.options.book.grantees.all()) {
      const { input, length } = this.key.grantsTo(allotment, origin);
      engine.openAny(input, 0, length);
      granted += engine.ownAdded;
      engine.close();
    }
    return granted;
  }

  private marked(allotment: Allotment): number {
    const { engine } = this;
    const { input, length } = this.key.marksOf(allotment);
    engine.openAny(input, 0, length);
    const marked = engine.ownAdded - engine.ownTaken;
    engine.close();
    return marked;
  }

  /** Undefined where memory is full: nothing has changed then. */
  private add(policy: Policy, allotment: Allotment, key: AllotmentKey, amount: number): ChangeMark | undefined {
    const { engine } = this;
    const endMs = windowEndMs(policy, allotment.window);
    engine.openAny(key.input, 0, key.length);
    const isNew = !engine.exists || engine.expiresAtMs === 0;
    const status = engine.add(...splitInt64(BigInt(amount)));
    // The same on every node, whoever says it: the end of the window.
    if (status === Status.Ok && isNew && endMs !== Number.POSITIVE_INFINITY)
      engine.expireAt(endMs + this.options.skewBoundMs);
    const mark = { shard: engine.openShardIndex, version: engine.ownVersion };
    engine.close();
    return status === Status.Ok ? mark : undefined;
  }
}
