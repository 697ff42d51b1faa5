import { type Increment, Ledger } from '@quotadb/engine/testing';

/** In place of the origin of a reset that the disk of its origin does not have any more. */
const APART = 'apart';

/** What the oracle knows of an increment beyond its amount. */
export interface Fact {
  readonly increment: Increment;
  origin: string;
  readonly shard: number;
  version: number;
  /** When its generation began, by its origin's clock. */
  readonly bornAtMs: number;
  /** By the scheduler's clock. */
  readonly madeAtMs: number;
  /** Its origin's clock was far ahead: every expiry of the key may be for later than it was made. */
  readonly isDatedAhead: boolean;
  /** From this version of its origin on the origin's component does not contain it. */
  endedAt: number;
  /** It was on no disk when the only process that knew of it ended: it never happened. */
  isUndone: boolean;
}

/** `uncertain`: a node that knew it lost its state, and perhaps it was the last; then the reset did not happen. */
export interface Reset {
  readonly key: string;
  origin: string;
  readonly shard: number;
  version: number;
  /**
   * False where its origin had no disk and waited for no peer: then the key is dropped at once, without a version. Only
   * that process knows of the reset until a peer is back and compares digests with it.
   */
  readonly isStamped: boolean;
  readonly increments: ReadonlySet<Increment>;
  state: 'holds' | 'uncertain' | 'undone';
}

/**
 * Knows each increment ever made, when, by which origin, under which version, and what may have become of it. The n-th
 * increment of a key is ±4^n, so a value shows exactly which increments it is the sum of (engine/testing/ledger.ts).
 */
export class Oracle {
  readonly ledger = new Ledger();
  readonly resets: Reset[] = [];
  /** It may be on no replica any more, without a fault of any. */
  readonly mayBeLost = new Set<Increment>();
  /** Origins that will make no further change. */
  readonly deadOrigins = new Set<string>();
  /**
   * Held by the new incarnation of an old copy. Where a generation lives longer by a change of the copy, the new one
   * has all of it, and has cancelled it in the one before; a reset of another replica does not reach it, a known gap.
   */
  readonly inherited = new Set<Increment>();
  private readonly facts = new Map<Increment, Fact>();
  private readonly byOrigin = new Map<string, Fact[]>();
  /** By origin and key: the versions of the changes that clients made there. */
  private readonly changes = new Map<string, number[]>();

  made(increment: Increment, fact: Omit<Fact, 'increment' | 'endedAt' | 'isUndone'>): void {
    const whole: Fact = { ...fact, increment, endedAt: Number.POSITIVE_INFINITY, isUndone: false };
    this.ledger.acknowledged(increment);
    this.facts.set(increment, whole);
    this.factsOf(fact.origin).push(whole);
  }

  noteChange(origin: string, key: string, version: number): void {
    const name = `${origin}:${key}`;
    const versions = this.changes.get(name);
    if (versions === undefined) this.changes.set(name, [version]);
    else versions.push(version);
  }

  /** The version of the last change up to `upTo` that clients of an origin made to a key; 0 = none. */
  lastChange(origin: string, key: string, upTo: number): number {
    return this.changes.get(`${origin}:${key}`)?.findLast((version) => version <= upTo) ?? 0;
  }

  factOf(increment: Increment): Fact {
    return this.facts.get(increment) as Fact;
  }

  factsOf(origin: string): Fact[] {
    let facts = this.byOrigin.get(origin);
    if (facts === undefined) {
      facts = [];
      this.byOrigin.set(origin, facts);
    }
    return facts;
  }

  /** Undefined where it had nothing in sight. */
  noteReset(given: Omit<Reset, 'state'>): Reset | undefined {
    if (given.increments.size === 0) return undefined;
    const reset: Reset = { ...given, state: 'holds' };
    this.resets.push(reset);
    return reset;
  }

  /** A reset that may have happened had seen it. */
  mayBeReset(increment: Increment): boolean {
    return this.resets.some(({ state, increments }) => state !== 'undone' && increments.has(increment));
  }

  /** Whether an increment may be missing from every replica's value, at this time of the latest clock. */
  mayBeMissing(increment: Increment, latestMs: number): boolean {
    const { isUndone, isDatedAhead } = this.factOf(increment);
    return (
      isUndone ||
      (isDatedAhead && this.ledger.hasExpiredSince(increment.key, 0, latestMs)) ||
      this.mayBeLost.has(increment) ||
      this.mayBeReset(increment) ||
      this.ledger.mayHaveExpired(increment, latestMs, !this.deadOrigins.has(increment.madeBy))
    );
  }

  /**
   * The same while changes are still under way. An expiry hides every generation that began before it, until the owner,
   * which may have counted on before it received the expiry, confirms that its generation goes on
   * (docs/decisions/0004-expiry-of-a-replicated-life.md).
   */
  mayBeHidden(increment: Increment, latestMs: number): boolean {
    if (this.mayBeMissing(increment, latestMs)) return true;
    return this.ledger.hasExpiredSince(increment.key, this.factOf(increment).bornAtMs, latestMs);
  }

  /** The changes of an origin that are later than this version have those of its components now. */
  reDated(origin: string, latest: number, versionOf: (key: string) => number): void {
    for (const fact of this.factsOf(origin)) {
      if (fact.version > latest) fact.version = versionOf(fact.increment.key);
      if (fact.endedAt > latest && fact.endedAt !== Number.POSITIVE_INFINITY)
        fact.endedAt = versionOf(fact.increment.key);
    }
    for (const reset of this.resets)
      if (reset.origin === origin && reset.version > latest) reset.version = versionOf(reset.key);
    for (const [name, versions] of this.changes) {
      const [of, key] = name.split(':');
      if (of !== origin) continue;
      const admitted = versions.filter((version) => version <= latest);
      this.changes.set(name, admitted.length < versions.length ? [...admitted, versionOf(key)] : admitted);
    }
  }

  /**
   * An old copy of an origin's disk is back, with changes up to these versions. The later ones are of another process:
   * returns its increments, which may be missing from now on.
   */
  setApart(origin: string, sequence: (shard: number) => number): Increment[] {
    const facts = this.factsOf(origin);
    const apart = facts.filter(({ version, shard }) => version > sequence(shard));
    this.byOrigin.set(
      origin,
      facts.filter((fact) => !apart.includes(fact)),
    );
    for (const fact of facts) if (fact.endedAt > sequence(fact.shard)) fact.endedAt = Number.POSITIVE_INFINITY;
    for (const reset of this.resets) {
      if (reset.origin !== origin || reset.version <= sequence(reset.shard)) continue;
      reset.origin = APART;
      if (reset.state === 'holds') reset.state = 'uncertain';
    }
    const mayBeLost = apart.filter(({ increment }) => !this.mayBeLost.has(increment));
    for (const { increment } of mayBeLost) this.mayBeLost.add(increment);
    return mayBeLost.filter(({ isUndone }) => !isUndone).map(({ increment }) => increment);
  }

  /** These changes are those of another origin now. */
  carry(made: Iterable<Increment>, resets: readonly Reset[], to: string, versionOf: (key: string) => number): void {
    for (const increment of made) {
      const fact = this.factOf(increment);
      const before = this.factsOf(fact.origin);
      before.splice(before.indexOf(fact), 1);
      this.factsOf(to).push(fact);
      fact.origin = to;
      fact.version = versionOf(increment.key);
      fact.endedAt = Number.POSITIVE_INFINITY;
    }
    for (const reset of resets) Object.assign(reset, { origin: to, version: versionOf(reset.key) });
  }

  /** A process came back from its disk, which holds its own changes up to these versions. */
  cameBack(
    origin: string,
    sequence: (shard: number) => number,
    sent: (shard: number) => number,
    shardOf: (key: string) => number,
  ): void {
    for (const fact of this.factsOf(origin)) {
      // A peer may know of it all the same, where it was sent before it was synced.
      if (fact.version > sequence(fact.shard) && fact.version <= sent(fact.shard)) this.mayBeLost.add(fact.increment);
      else if (fact.version > sequence(fact.shard)) fact.isUndone = true;
      if (fact.endedAt > sequence(fact.shard)) fact.endedAt = Number.POSITIVE_INFINITY;
    }
    for (const reset of this.resets)
      if (reset.origin === origin && reset.version > sequence(reset.shard))
        reset.state = reset.version <= sent(reset.shard) ? 'uncertain' : 'undone';
    for (const [name, versions] of this.changes) {
      const [of, key] = name.split(':');
      if (of !== origin) continue;
      const upTo = sequence(shardOf(key));
      this.changes.set(
        name,
        versions.filter((version) => version <= upTo),
      );
    }
  }
}
