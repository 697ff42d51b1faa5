import { type Engine, LocalBalances, OWN_ORIGIN, Status } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from '../allotments/allotment.js';
import { MovedAllotments } from '../allotments/moved-allotments.js';
import { Inheritances } from '../home/inheritance.js';
import type { PolicyBook } from '../home/policy-book.js';
import { limitOf } from '../policies/override-table.js';
import { type Policy, reachMs, windowEndMs, windowStartMs } from '../policies/policy.js';

/** The place of a change: it is on disk, and may be sent to peers, when the disk has this version of this shard. */
export interface ChangeMark {
  readonly shard: number;
  readonly version: number;
}

/** Tokens that were set aside, and the rights that are left at that moment. */
export interface Marked extends ChangeMark {
  readonly amount: number;
  readonly rightsLeft: number;
}

export interface LedgerOptions {
  readonly engine: Engine;
  readonly region: string;
  readonly book: PolicyBook;
  /** How long the counters of a window are kept after it: longer than clocks differ. */
  readonly skewBoundMs: number;
}

const NONE = { own: 0, everywhere: 0 } as const;

/**
 * The tokens that this node holds, and the only code that changes them. For every allotment and origin i
 *
 *   rights(i) = initial(i) + admitted(i) + Σ granted to i − Σ granted by i − marked(i) ≥ 0
 *
 * and i alone takes from rights(i): by granting some of them to another, or by marking them and putting them into its
 * local balance. Each term is a counter that only its origin writes. Every token in a local balance was marked before,
 * so all regions together never spend more than the limit and what regions that were cut off have admitted by
 * themselves, each at most the part that the policy allows (`admitFraction`).
 */
export class Ledger {
  private readonly options: LedgerOptions;
  private readonly engine: Engine;
  private readonly key = new AllotmentKey();
  readonly balances: LocalBalances;
  private readonly ownOrigin: Uint8Array;
  private readonly inheritances: Inheritances;
  private readonly moved: MovedAllotments;

  constructor(options: LedgerOptions) {
    this.options = options;
    this.engine = options.engine;
    this.balances = new LocalBalances(options.engine);
    this.ownOrigin = Uint8Array.from(options.engine.origins.idOf(OWN_ORIGIN));
    this.moved = new MovedAllotments(options.engine);
    this.inheritances = new Inheritances(options.engine, options.book, Buffer.from(this.ownOrigin).toString('hex'));
  }

  /**
   * The tokens that this node may still grant or mark. Below 0 after a limit was lowered. Never more than the limit has
   * left after the marks of all origins that are known here: regions that gave more than they had, under a higher limit
   * or against the rules, do not make others exceed it.
   */
  rights(policy: Policy, allotment: Allotment): number {
    const limit = limitOf(policy, allotment.subject, allotment.window);
    const admitted = this.admitted(policy, allotment);
    const initial = this.initial(policy, allotment, limit);
    const { own, everywhere } = this.marked(allotment);
    const inherited = policy.inheritances === undefined ? 0 : this.inheritances.inherited(policy, allotment);
    const begun = initial + inherited + admitted.own;
    const rights = begun + this.received(allotment) - this.granted(allotment) - own;
    if (policy.inheritances !== undefined && this.inheritances.isDisinherited(policy)) return 0;
    // Checked last: a clock that jumped ahead has expired this node's grants and marks, but not its initial rights.
    if (this.isExpired(policy, allotment) || this.isAhead(policy, allotment)) return 0;
    return Math.min(rights, limit + admitted.everywhere - everywhere);
  }

  private initial(policy: Policy, allotment: Allotment, limit: number): number {
    const { book } = this.options;
    const moved = this.moved.initialOf(allotment, this.ownOrigin, limit);
    if (moved !== undefined) return moved;
    return book.tenure.mayStart(policy, allotment.window) ? book.initialOf(policy, allotment.window, limit) : 0;
  }

  /** The tokens of an allotment that are used, as far as is known here: set aside and not admitted beyond the limit. */
  used(policy: Policy, allotment: Allotment): number {
    return Math.max(0, this.marked(allotment).everywhere - this.admitted(policy, allotment).everywhere);
  }

  /**
   * Starts an allotment that comes from another group, of which this much was used there. False where memory is full:
   * the slot must not be served here then.
   */
  adopt(policy: Policy, allotment: Allotment, used: number): boolean {
    if (this.isExpired(policy, allotment)) return true;
    return (
      this.add(policy, allotment, this.key.movedOf(allotment), 1) !== undefined &&
      this.add(policy, allotment, this.key.movedTo(allotment, this.ownOrigin), 1) !== undefined &&
      this.add(policy, allotment, this.key.marksOf(allotment), used) !== undefined
    );
  }

  /** Takes back tokens in the local balance that are not in the limit any more, or are another's now. */
  takeBackExcess(policy: Policy, allotment: Allotment): void {
    const isDisinherited = this.inheritances.isDisinherited(policy);
    const limit = limitOf(policy, allotment.subject, allotment.window) + this.admitted(policy, allotment).everywhere;
    const excess = isDisinherited ? Number.POSITIVE_INFINITY : this.marked(allotment).everywhere - limit;
    if (excess > 0) this.takeBack(policy, allotment, excess);
  }

  /**
   * No clock within the bound can have reached this window, nor a lease reach into it, so a request for it is a
   * mistake. The next incarnation of this node may begin with it, which is safe only because this one has granted and
   * marked nothing.
   */
  private isAhead(policy: Policy, allotment: Allotment): boolean {
    const { skewBoundMs } = this.options;
    return windowStartMs(policy, allotment.window) > this.engine.nowMs + skewBoundMs + reachMs(policy, skewBoundMs);
  }

  /** By this node's clock, now or before it was set back, the counters of the allotment are gone. */
  private isExpired(policy: Policy, allotment: Allotment): boolean {
    const goneMs = this.goneMs(policy, allotment);
    return this.engine.nowMs >= goneMs || this.options.book.grantees.forgottenUpToMs >= goneMs;
  }

  /** When the counters of the allotment expire. */
  private goneMs(policy: Policy, allotment: Allotment): number {
    return windowEndMs(policy, allotment.window) + this.options.skewBoundMs;
  }

  /** The tokens beyond the limit that this node may still admit alone, in a region that is cut off. */
  admissible(policy: Policy, allotment: Allotment): number {
    const { admitFraction = 0 } = policy;
    if (admitFraction === 0 || !this.options.book.tenure.mayAdmit(policy, allotment.window)) return 0;
    if (this.isExpired(policy, allotment) || this.isAhead(policy, allotment)) return 0;
    const most = Math.floor(limitOf(policy, allotment.subject, allotment.window) * admitFraction);
    return Math.max(0, most - this.admitted(policy, allotment).own);
  }

  /**
   * Admits tokens beyond the limit and sets them aside to spend here. One transaction: a crash that forgot how much was
   * admitted has forgotten the mark too, and nothing of it was spent.
   */
  admit(policy: Policy, allotment: Allotment, amount: number): ChangeMark | undefined {
    if (amount > this.admissible(policy, allotment))
      throw new Error(`${amount} tokens cannot be admitted: more than the policy allows this region`);
    this.engine.lockAll();
    try {
      if (this.add(policy, allotment, this.key.admittedOf(allotment), amount) === undefined) return undefined;
      return this.add(policy, allotment, this.key.marksOf(allotment), amount);
    } finally {
      this.engine.unlock();
    }
  }

  /** By this node, and by all origins as far as is known here. */
  admitted(policy: Policy, allotment: Allotment): { readonly own: number; readonly everywhere: number } {
    return policy.admitFraction === undefined ? NONE : this.countOf(this.key.admittedOf(allotment));
  }

  /**
   * Sets tokens aside to spend here: of the rights, as many as `portionOf` says. They may go into the local balance when
   * the mark is on disk.
   */
  mark(policy: Policy, allotment: Allotment, portionOf: (rights: number) => number): Marked | undefined {
    const rights = this.rights(policy, allotment);
    if (rights <= 0) return undefined;
    const amount = portionOf(rights);
    if (amount > rights) throw new Error(`${amount} tokens cannot be marked: more than this node holds`);
    const mark = this.add(policy, allotment, this.key.marksOf(allotment), amount);
    return mark && { ...mark, amount, rightsLeft: rights - amount };
  }

  /** Takes up to `atMost` unspent tokens out of the local balance and makes them rights again. */
  takeBack(policy: Policy, allotment: Allotment, atMost: number): number {
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    const amount = Math.min(this.balances.balance, atMost);
    if (amount > 0) this.balances.give(-amount);
    this.balances.close();
    if (amount <= 0) return 0;
    return this.add(policy, allotment, this.key.marksOf(allotment), -amount) === undefined ? 0 : amount;
  }

  /** Takes back a mark whose tokens never reached the local balance. */
  unmark(policy: Policy, allotment: Allotment, amount: number): void {
    this.add(policy, allotment, this.key.marksOf(allotment), -amount);
  }

  /** Makes spent tokens rights again, and lets takes know: they ask for them instead of being denied. */
  refund(policy: Policy, allotment: Allotment, amount: number): void {
    this.unmark(policy, allotment, amount);
    const reserve = Math.max(0, this.rights(policy, allotment));
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    this.balances.denyUntil(0);
    this.balances.note(reserve, this.balances.lowWatermark);
    this.balances.close();
  }

  /** Gives rights to another origin; undefined where that is not possible. Replication sends it once it is on disk. */
  grant(policy: Policy, allotment: Allotment, to: Uint8Array, amount: number): ChangeMark | undefined {
    if (amount > this.rights(policy, allotment))
      throw new Error(`${amount} tokens cannot be granted: more than this node holds`);
    if (!this.options.book.grantees.note(to, this.goneMs(policy, allotment), this.engine.nowMs)) return undefined;
    return this.add(policy, allotment, this.key.grantsTo(allotment, to), amount);
  }

  /** Puts marked tokens into the local balance; false where there is no memory for one. `rights` are those that are left. */
  fill(policy: Policy, allotment: Allotment, amount: number, rights = this.rights(policy, allotment)): boolean {
    const reserve = Math.max(0, rights);
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    const isFilled = this.balances.give(amount);
    this.balances.denyUntil(0);
    this.balances.note(reserve, Math.floor(this.balances.balance / 2));
    this.balances.close();
    return isFilled;
  }

  /** Takes before this time are denied at once. */
  deny(policy: Policy, allotment: Allotment, untilMs: number): void {
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    const isThere = this.engine.exists;
    this.balances.close();
    if (!isThere && this.add(policy, allotment, this.key.marksOf(allotment), 0) === undefined) return;
    this.balances.open(input, 0, this.key.marksOf(allotment).length);
    this.balances.denyUntil(untilMs);
    this.balances.note(0, 0);
    this.balances.close();
  }

  balance(allotment: Allotment): number {
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    const { balance } = this.balances;
    this.balances.close();
    return balance;
  }

  /** The tokens that this node has set aside: spent, in the local balance, reserved, or on their way to one of them. */
  ownMarks(allotment: Allotment): number {
    return this.marked(allotment).own;
  }

  private received(allotment: Allotment): number {
    const { engine } = this;
    const { input, length } = this.key.grantsTo(allotment, this.ownOrigin);
    engine.openAny(input, 0, length);
    const received = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    engine.close();
    return received;
  }

  /** The own part of the grants to all origins. */
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

  /** By this node, and by all origins as far as is known here. */
  private marked(allotment: Allotment): { readonly own: number; readonly everywhere: number } {
    return this.countOf(this.key.marksOf(allotment));
  }

  private countOf({ input, length }: AllotmentKey): { readonly own: number; readonly everywhere: number } {
    const { engine } = this;
    engine.openAny(input, 0, length);
    const own = engine.ownAdded - engine.ownTaken;
    const everywhere = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    engine.close();
    return { own, everywhere };
  }

  /** Undefined where memory is full: nothing has changed then. */
  private add(policy: Policy, allotment: Allotment, key: AllotmentKey, amount: number): ChangeMark | undefined {
    const { engine } = this;
    const endMs = windowEndMs(policy, allotment.window);
    engine.openAny(key.input, 0, key.length);
    const isNew = !engine.exists || engine.expiresAtMs === 0;
    const status = engine.add(Math.floor(amount / 2 ** 32), amount | 0);
    // The end of the window, so every node sets the same expiry.
    if (status === Status.Ok && isNew && endMs !== Number.POSITIVE_INFINITY)
      engine.expireAt(endMs + this.options.skewBoundMs);
    const mark = { shard: engine.openShardIndex, version: engine.ownVersion };
    engine.close();
    return status === Status.Ok ? mark : undefined;
  }
}
