import { type Increment, Ledger } from '@quotadb/engine/testing';

/** What is known of an increment beyond its amount. */
export interface Fact {
  readonly increment: Increment;
  readonly origin: string;
  readonly shard: number;
  readonly version: number;
  /** When the life that it belongs to began, by its origin's clock. */
  readonly bornAtMs: number;
  /** Of the true clock. */
  readonly madeAtMs: number;
  /** From this version of its origin on it is not in the origin's component any more. */
  endedAt: number;
  /** It was on no disk when the only process that knew of it ended: it never happened. */
  isUndone: boolean;
}

/** `uncertain`: the memory of it died with a node, and perhaps with everybody; then it did not happen. */
export interface Reset {
  readonly key: string;
  readonly origin: string;
  readonly shard: number;
  readonly version: number;
  readonly increments: ReadonlySet<Increment>;
  state: 'holds' | 'uncertain' | 'undone';
}

/**
 * Who knows everything: each increment ever made, when, by whom, under which version, and what may have become of it. The
 * n-th increment of a key is ±4^n, so a value says exactly what it is made of (engine/testing/ledger.ts).
 */
export class Oracle {
  readonly ledger = new Ledger();
  readonly resets: Reset[] = [];
  /** Nobody may have it any more, and for no fault of anybody. */
  readonly mayBeLost = new Set<Increment>();
  /** Origins of which nobody will ever hear again. */
  readonly deadOrigins = new Set<string>();
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

  /** The version of the last change that clients of an origin made to a key, of those up to here; 0 = none. */
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

  noteReset(reset: Omit<Reset, 'state'>): void {
    if (reset.increments.size > 0) this.resets.push({ ...reset, state: 'holds' });
  }

  /** A reset that may have happened had it in sight. */
  mayBeReset(increment: Increment): boolean {
    return this.resets.some(({ state, increments }) => state !== 'undone' && increments.has(increment));
  }

  /** Whether an increment may be missing from a value, whatever anybody knows, at this time of the latest clock. */
  mayBeMissing(increment: Increment, latestMs: number): boolean {
    return (
      this.factOf(increment).isUndone ||
      this.mayBeLost.has(increment) ||
      this.mayBeReset(increment) ||
      this.ledger.mayHaveExpired(increment, latestMs, !this.deadOrigins.has(increment.madeBy))
    );
  }

  /**
   * The same at a moment when not everybody has heard of everything. An expiry hides every life that began before it, until
   * the owner, who may have counted on in ignorance, says that its life goes on (docs/decisions/0004-expiry-of-a-replicated-life.md).
   */
  mayBeHidden(increment: Increment, latestMs: number): boolean {
    if (this.mayBeMissing(increment, latestMs)) return true;
    return this.ledger.hasExpiredSince(increment.key, this.factOf(increment).bornAtMs, latestMs);
  }

  /** A process came back from its disk, which holds its own changes up to these versions. */
  cameBack(
    origin: string,
    sequence: (shard: number) => number,
    told: (shard: number) => number,
    shardOf: (key: string) => number,
  ): void {
    for (const fact of this.factsOf(origin)) {
      // Others may know of it all the same, where it was told before it was synced.
      if (fact.version > sequence(fact.shard) && fact.version <= told(fact.shard)) this.mayBeLost.add(fact.increment);
      else if (fact.version > sequence(fact.shard)) fact.isUndone = true;
      if (fact.endedAt > sequence(fact.shard)) fact.endedAt = Number.POSITIVE_INFINITY;
    }
    for (const reset of this.resets)
      if (reset.origin === origin && reset.version > sequence(reset.shard))
        reset.state = reset.version <= told(reset.shard) ? 'uncertain' : 'undone';
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
