import { Status } from '@quotadb/engine';
import {
  type Leases,
  nameOfOperation,
  type Operations,
  type Policy,
  TOO_MANY_LEASES,
  type TokenBroker,
} from '@quotadb/quota';
import { type Attempted, Attempts, type AttemptsOptions, isSameCounter } from './attempt.js';
import {
  type Decision,
  type DecisionRefusal,
  type Item,
  type ItemDecision,
  isOfTokens,
  MAXIMUM_ITEMS,
} from './decision.js';
import { summarise } from './summarise.js';

export interface DeciderOptions extends Omit<AttemptsOptions, 'leaseWindows'> {
  readonly operations: Pick<Operations, 'persist' | 'allotmentsOfLease'>;
  readonly leases: Pick<Leases, 'give' | 'release' | 'ofOperation' | 'isFull'>;
  readonly broker: Pick<TokenBroker, 'requestRefill'>;
}

export interface DecideRequest {
  readonly items: readonly Item[];
  /** How long to wait for tokens of other regions; as the quotas say where it is left out. */
  readonly waitMs?: number | undefined;
  /** Nothing is charged. */
  readonly isPeek?: boolean;
}

/**
 * The one decision of a request, on the thread of the token broker: against all limits at once, charging all of them or
 * none. Where a local balance has too few tokens it waits for more with nothing charged, and then decides anew, so no
 * other request ever sees a part of a decision.
 */
export class Decider {
  private readonly options: DeciderOptions;
  private readonly attempts: Attempts;

  constructor(options: DeciderOptions) {
    this.options = options;
    const leaseWindows = (policy: Policy, subject: Uint8Array) => {
      const windows = options.operations.allotmentsOfLease(policy, subject);
      return typeof windows === 'string' ? [] : windows;
    };
    this.attempts = new Attempts({ ...options, leaseWindows });
  }

  /** Calls back once, now or when tokens have come. */
  decide({ items, waitMs, isPeek = false }: DecideRequest, done: (answer: Decision | DecisionRefusal) => void): void {
    const { operations } = this.options;
    if (items.length > MAXIMUM_ITEMS) {
      done({ error: `at most ${MAXIMUM_ITEMS} limits are decided at once, these are ${items.length}` });
      return;
    }
    const unknown = this.attempts.findUnknown(items);
    const mistake = unknown === undefined ? this.findLeaseMistake(items) : `there is no quota '${unknown}'`;
    if (mistake !== undefined) {
      done({ error: mistake });
      return;
    }
    const longestMs = waitMs ?? this.longestWaitMs(items.filter(({ shadow }) => !shadow));
    operations.persist(
      () => this.attempt(items, isPeek),
      longestMs,
      (attempted) => this.finish(items, attempted, done),
    );
  }

  private finish(
    items: readonly Item[],
    { status, decisions, lateShadows }: Attempted,
    done: (answer: Decision | DecisionRefusal) => void,
  ): void {
    if (status !== Status.Ok) {
      done({ status });
      return;
    }
    const known = [...decisions];
    // Tokens that this region holds come at once; for others the answer does not wait.
    for (const shadow of lateShadows)
      this.chargeLate(shadow, (late) => {
        for (const [index, item] of items.entries()) if (isSameCounter(item, shadow)) known[index] = late;
      });
    done(summarise(known));
  }

  private attempt(items: readonly Item[], isPeek: boolean): Attempted {
    const attempted = this.attempts.attempt(isPeek ? this.known(items) : this.unheld(this.known(items)), isPeek);
    for (const { item, allotments } of attempted.leases) this.keepLease(item, allotments);
    for (const { allotment, cost } of attempted.low) this.options.broker.requestRefill(allotment, cost);
    return attempted;
  }

  /** A quota that was dropped while the decision waited for its tokens denies nothing any more. */
  private known(items: readonly Item[]): readonly Item[] {
    return items.map((item) =>
      isOfTokens(item.kind) && this.options.policyOf(item.name) === undefined
        ? { ...item, limit: Number.POSITIVE_INFINITY }
        : item,
    );
  }

  /** A lease that is held costs nothing more; a request that holds all it asks for was made before, and is free. */
  private unheld(items: readonly Item[]): readonly Item[] {
    const leases = items.filter(wantsLease);
    if (leases.length === 0) return items;
    const isHeld = (item: Item) => this.options.leases.ofOperation(operationOf(item)) !== undefined;
    const deciding = leases.some(({ shadow }) => !shadow) ? leases.filter(({ shadow }) => !shadow) : leases;
    const isRepeated = deciding.every(isHeld);
    return items.map((item) => (isRepeated || (wantsLease(item) && isHeld(item)) ? { ...item, cost: 0 } : item));
  }

  private keepLease(item: Item, allotments: Attempted['leases'][number]['allotments']): void {
    const { name, subject } = item;
    const { leaseMs: ttlMs = 0 } = this.options.policyOf(name) as Policy;
    this.options.leases.give({ name, subject, ttlMs, operation: operationOf(item) }, allotments);
  }

  /** Ends the leases that these items name; false where none of them is held here. */
  release(items: readonly Item[]): boolean {
    const { leases } = this.options;
    const held = items.flatMap((item) => leases.ofOperation(operationOf(item)) ?? []);
    for (const id of held) leases.release(id);
    return held.length > 0;
  }

  private findLeaseMistake(items: readonly Item[]): string | undefined {
    const { leases, operations, policyOf } = this.options;
    const wanted = items.filter(wantsLease);
    if (wanted.length === 0) return undefined;
    if (leases.isFull) return TOO_MANY_LEASES;
    const found = wanted.map(({ name, subject }) => operations.allotmentsOfLease(policyOf(name) as Policy, subject));
    return found.find((windows) => typeof windows === 'string') as string | undefined;
  }

  /** The request is decided: its limit in shadow gets its tokens when they have come. */
  chargeLate(item: Item, done: (late: ItemDecision) => void = () => {}): void {
    const waitMs = this.longestWaitMs([item]);
    this.options.operations.persist(
      () => this.attempt([{ ...item, shadow: false }], false),
      waitMs,
      ({ decisions }) => done({ ...decisions[0], shadow: true }),
    );
  }

  private longestWaitMs(items: readonly Item[]): number {
    let longest = 0;
    for (const { kind, name } of items) {
      const policy = isOfTokens(kind) ? this.options.policyOf(name) : undefined;
      longest = Math.max(longest, policy?.waitMs ?? 0);
    }
    return longest;
  }
}

/** Whether an item takes a lease where it is allowed. */
export function wantsLease({ kind, cost, limit }: Item): boolean {
  return kind === 'concurrency' && cost > 0 && limit !== Number.POSITIVE_INFINITY;
}

/** What a lease is known by: its limit, its subject, and the name that its caller gave it. */
export function operationOf({ name, subject, lease = '' }: Item): string {
  return nameOfOperation(JSON.stringify(['limit', name, Buffer.from(subject).toString('latin1'), lease]));
}

export function isRefusal(answer: Decision | DecisionRefusal): answer is DecisionRefusal {
  return !('allowed' in answer);
}
