import { ByteInput, countedGenerations, type Engine } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from '../allotments/allotment.js';
import { MovedAllotments } from '../allotments/moved-allotments.js';
import { limitOf } from '../policies/override-table.js';
import type { Inheritance, Policy } from '../policies/policy.js';
import { MAXIMUM_INHERITANCES, PolicyError } from '../policies/policy-set.js';

/**
 * The tokens that this incarnation has inherited from others that are lost for good (QUOTA.REMINT). An incarnation that
 * is lost changes nothing any more, so its rights stay what its counters say:
 *
 *   rights(lost) = initial(lost) + Σ granted to it − Σ granted by it − marked by it + what it had inherited itself
 *
 * Every incarnation is inherited from once (PolicyBook.remint), and has no rights of its own from then on.
 */
export class Inheritances {
  private readonly engine: Engine;
  private readonly book: Initials;
  private readonly incarnation: string;
  private readonly key = new AllotmentKey();
  private readonly moved: MovedAllotments;

  constructor(engine: Engine, book: Initials, incarnation: string) {
    this.engine = engine;
    this.book = book;
    this.incarnation = incarnation;
    this.moved = new MovedAllotments(engine);
  }

  inherited(policy: Policy, allotment: Allotment): number {
    return this.inheritedBy(policy, allotment, this.incarnation);
  }

  /** Whether the tokens of this incarnation are another's now. */
  isDisinherited({ inheritances = [] }: Policy): boolean {
    return inheritances.some(({ from }) => from === this.incarnation);
  }

  private inheritedBy(policy: Policy, allotment: Allotment, heir: string): number {
    let sum = 0;
    for (const inheritance of policy.inheritances ?? [])
      if (inheritance.to === heir) sum += this.rightsOfLost(policy, allotment, inheritance);
    return sum;
  }

  /** May be below 0 while changes are missing here; then less is inherited from others too. */
  private rightsOfLost(policy: Policy, allotment: Allotment, { from, grantees, seen }: Inheritance): number {
    if (!this.hasAllOf(from, seen)) return 0;
    const starter = policy.starters.find(({ incarnation }) => incarnation === from);
    const limit = limitOf(policy, allotment.subject, allotment.window);
    const begun = starter === undefined ? 0 : this.book.initialOf(policy, allotment.window, limit, starter.region);
    let rights = this.moved.initialOf(allotment, bytesOf(from), limit) ?? begun;
    rights += sumOf(this.countsOf(this.key.grantsTo(allotment, bytesOf(from))));
    rights -= this.countsOf(this.key.marksOf(allotment)).get(from) ?? 0;
    for (const grantee of grantees)
      rights -= this.countsOf(this.key.grantsTo(allotment, bytesOf(grantee))).get(from) ?? 0;
    return rights + this.inheritedBy(policy, allotment, from);
  }

  private hasAllOf(origin: string, seen: readonly number[]): boolean {
    const { engine } = this;
    const index = engine.origins.find(bytesOf(origin));
    return index !== -1 && seen.every((version, shard) => engine.seen(shard, index) >= version);
  }

  /** The count of every origin in a key, by its name. */
  private countsOf({ input, length }: AllotmentKey): Map<string, number> {
    const { engine } = this;
    const key = ByteInput.copyOf(input.bytes.subarray(0, length));
    const generations = countedGenerations(engine, key, 0, length, new Map());
    return new Map(
      generations.map(({ originIndex, positive, negative }) => [
        Buffer.from(engine.origins.idOf(originIndex)).toString('hex'),
        Number(positive - negative),
      ]),
    );
  }
}

/** What servers start with, as the book of policies has it. */
interface Initials {
  initialOf(policy: Policy, window: number, limit: number, name: string): number;
}

/** An incarnation that is lost for good. */
export type Lost = Omit<Inheritance, 'to'>;

/** The policy with the tokens of these incarnations given to the heir; of each of them once. */
export function inherit(policy: Policy, heir: string, lost: readonly Lost[]): Policy {
  const before = policy.inheritances ?? [];
  const added = lost.filter(({ from }) => from !== heir && before.every((other) => other.from !== from));
  if (policy.windowMs > 0)
    throw new PolicyError(`'${policy.name}' begins anew with its next window: only a quota without one is re-minted`);
  if (added.length === 0)
    throw new PolicyError(`what these regions have lost of '${policy.name}' was re-minted before`);
  const inheritances = [...before, ...added.map((one) => ({ ...one, to: heir }))];
  const most = Math.max(inheritances.length, ...added.map(({ grantees }) => grantees.length));
  if (most > MAXIMUM_INHERITANCES)
    throw new PolicyError(`more than ${MAXIMUM_INHERITANCES} incarnations had tokens of '${policy.name}'`);
  return { ...policy, inheritances };
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function bytesOf(origin: string): Uint8Array {
  return Uint8Array.from(Buffer.from(origin, 'hex'));
}
