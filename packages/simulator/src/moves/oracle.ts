import { type Increment, Ledger } from '@quotadb/engine/testing';

/** What the oracle knows of an increment beyond its amount. */
export interface Fact {
  readonly increment: Increment;
  readonly origin: string;
  readonly shard: number;
  readonly version: number;
  /** How often the slot had changed hands when it was made. */
  readonly epoch: number;
  /**
   * `uncertain`: its process has ended, and the disk may not have it. `undone`: its process came back without it, and
   * so no other member can have it.
   */
  state: 'made' | 'uncertain' | 'undone';
}

/**
 * Knows every acknowledged increment, and every token that was taken. The n-th increment of a key is 4ⁿ, so a value
 * shows which increments are in it, and how often.
 */
export class MoveOracle {
  readonly ledger = new Ledger();
  private readonly facts = new Map<Increment, Fact>();
  /** By window and subject. */
  private readonly taken = new Map<string, number>();

  made(fact: Omit<Fact, 'state'>): void {
    this.ledger.acknowledged(fact.increment);
    this.facts.set(fact.increment, { ...fact, state: 'made' });
  }

  /** A process has ended whose disk holds its changes up to these versions. */
  ended(origin: string, durable: (shard: number) => number): void {
    for (const fact of this.factsOf(origin))
      if (fact.state === 'made' && fact.version > durable(fact.shard)) fact.state = 'uncertain';
  }

  /** It is back with its changes up to these versions. */
  cameBack(origin: string, sequence: (shard: number) => number): void {
    for (const fact of this.factsOf(origin))
      if (fact.state === 'uncertain') fact.state = fact.version <= sequence(fact.shard) ? 'made' : 'undone';
  }

  /**
   * The fault of a value that is read in a group that owns the slot: where `isWhole` every increment has to be in
   * it; otherwise those of the reader itself, and those from before the slot came to the group.
   */
  findFault(key: string, value: bigint, epoch: number, reader: string, isWhole: boolean): string | undefined {
    const read = this.ledger.read(key, value);
    if (typeof read === 'string') return read;
    const found = new Set(read);
    for (const increment of this.ledger.of(key)) {
      const fact = this.facts.get(increment) as Fact;
      const isFound = found.has(increment);
      const name = `increment ${increment.index} of ${key}, made by ${increment.madeBy} in epoch ${fact.epoch},`;
      if (isFound && fact.state === 'undone') return `${name} was undone by a crash, and is there`;
      const isDue = isWhole || fact.origin === reader || fact.epoch < epoch;
      if (!isFound && isDue && fact.state === 'made') return `${name} is missing in epoch ${epoch}`;
    }
    return undefined;
  }

  /** Returns how many were taken of this limit, these included. */
  take(window: number, subject: string, tokens: number): number {
    const name = `${window} ${subject}`;
    const taken = (this.taken.get(name) ?? 0) + tokens;
    this.taken.set(name, taken);
    return taken;
  }

  private *factsOf(origin: string): Iterable<Fact> {
    for (const fact of this.facts.values()) if (fact.origin === origin) yield fact;
  }
}
