import { EPOCH_MS } from '@quotadb/engine';
import { MAXIMUM_LIMIT, MAXIMUM_WINDOW_MS, type Policy, type Share, windowStartMs } from './policy.js';

/** What a QUOTA.DEFINE asks for. */
export interface Definition {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly allocator: string;
  readonly shares: readonly Share[];
  readonly waitMs: number;
}

/** All policies as the home has them; every change makes a higher version. */
export interface PolicySet {
  readonly home: string;
  /** The incarnation of the home that began it. Only what follows from one beginning can be compared. */
  readonly lineage: string;
  readonly version: number;
  readonly lastNumber: number;
  readonly policies: readonly Policy[];
}

/** What is kept on disk. */
export interface SavedBook {
  readonly set: PolicySet | undefined;
  readonly incarnation: string;
  /** Policies that this incarnation saw begin. */
  readonly begun: readonly number[];
  /** Origins that it has ever granted anything to, in hexadecimal. */
  readonly grantees: readonly string[];
}

export const MAXIMUM_POLICIES = 1000;
export const MAXIMUM_NAME_BYTES = 128;

export interface PolicyBookOptions {
  readonly home: string;
  readonly region: string;
  /** This life of the replica, and when it began by its own clock. */
  readonly incarnation: string;
  readonly incarnationBeganMs: number;
  readonly skewBoundMs: number;
  /** There are no peers that could know of policies which this node has forgotten. */
  readonly isAlone: boolean;
  readonly saved?: SavedBook;
  /** Writes it to disk, and returns when it is there; throws where it cannot. Nothing where there is no disk. */
  readonly save: (book: SavedBook) => void;
}

export class PolicyError extends Error {}

/**
 * The policies of the cluster. One region is their home: only there they are defined and changed, so that no limit is ever
 * given out by two allocators; everybody else holds the newest set that the home has sent.
 *
 * An allocator that lost its memory must not give the limit out a second time. So an incarnation starts a cell with its
 * share only where it can prove that nobody did so before in its place: the window began after it did, with room for clocks that
 * differ; or the policy did, which it knows if it held an earlier set without it.
 */
export class PolicyBook {
  private readonly options: PolicyBookOptions;
  private current: PolicySet | undefined;
  private readonly byName = new Map<string, Policy>();
  private readonly byNumber = new Map<number, Policy>();
  private readonly begun = new Set<number>();
  private readonly grantees = new Map<string, Uint8Array>();

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, home, region, incarnation } = options;
    this.current = saved?.set;
    if (home === region && options.isAlone) this.begin();
    if (saved?.incarnation === incarnation) {
      for (const number of saved.begun) this.begun.add(number);
      for (const grantee of saved.grantees) this.grantees.set(grantee, Buffer.from(grantee, 'hex'));
    }
    this.index();
  }

  /** Undefined before the home was heard of. */
  get set(): PolicySet | undefined {
    return this.current;
  }

  get version(): number {
    return this.current?.version ?? 0;
  }

  /**
   * Everybody that this incarnation has granted anything to. It is on disk before the first grant is made: after a restart
   * what was granted is found by going through them, and none may be missing.
   */
  allGrantees(): Iterable<Uint8Array> {
    return this.grantees.values();
  }

  noteGrantee(origin: Uint8Array): void {
    const name = Buffer.from(origin).toString('hex');
    if (this.grantees.has(name)) return;
    this.grantees.set(name, Uint8Array.from(origin));
    this.save();
  }

  private save(): void {
    const { incarnation, save } = this.options;
    save({ set: this.current, incarnation, begun: [...this.begun], grantees: [...this.grantees.keys()] });
  }

  named(name: string): Policy | undefined {
    return this.byName.get(name);
  }

  numbered(number: number): Policy | undefined {
    return this.byNumber.get(number);
  }

  list(): readonly Policy[] {
    return this.current?.policies ?? [];
  }

  /** Whether this incarnation may hold its share of a cell as it begins. */
  mayStart(policy: Policy, window: number): boolean {
    if (this.begun.has(policy.number)) return true;
    const { incarnationBeganMs, skewBoundMs } = this.options;
    return windowStartMs(policy, window) >= incarnationBeganMs + skewBoundMs;
  }

  /** At the home: a new policy, or other numbers for one that is there. */
  define(definition: Definition, nowMs: number): Policy {
    const { home, region, skewBoundMs } = this.options;
    if (home !== region) throw new PolicyError(`policies are defined in region ${home}`);
    check(definition);
    const set = this.current;
    if (set === undefined)
      throw new PolicyError(
        'the home of policies has no memory of them and has not heard from a peer yet: try again soon',
      );
    const before = this.byName.get(definition.name);
    if (before === undefined && set.policies.length >= MAXIMUM_POLICIES)
      throw new PolicyError(`there are ${MAXIMUM_POLICIES} policies already`);
    if (before !== undefined && before.windowMs !== definition.windowMs)
      throw new PolicyError('the window of a policy cannot be changed: drop it and define it anew');
    const { name, limit, windowMs, shares, waitMs } = definition;
    const number = before?.number ?? Math.max(set.lastNumber + 1, Math.floor((nowMs - EPOCH_MS) / 1000));
    const allocators = before?.allocators ?? [{ fromMs: Number.MIN_SAFE_INTEGER, region: definition.allocator }];
    const isMoved = (allocators.at(-1) as { region: string }).region !== definition.allocator;
    if (isMoved && windowMs === 0)
      throw new PolicyError('the allocator of a policy without a window cannot be changed: drop it and define it anew');
    // Only for windows that have not begun anywhere, whatever the clocks say.
    const term = { fromMs: nowMs + 2 * skewBoundMs, region: definition.allocator };
    const policy: Policy = {
      number,
      name,
      limit,
      windowMs,
      shares,
      waitMs,
      allocators: isMoved ? [...allocators, term] : allocators,
    };
    if (before !== undefined && JSON.stringify(before.shares) !== JSON.stringify(shares))
      throw new PolicyError('the shares of a policy cannot be changed: drop it and define it anew');
    if (before === undefined) this.begun.add(number);
    const policies = [...set.policies.filter((other) => other.number !== number), policy];
    this.replace({ ...set, version: nextVersion(set, nowMs), lastNumber: Math.max(set.lastNumber, number), policies });
    return policy;
  }

  drop(name: string, nowMs: number): boolean {
    const { home, region } = this.options;
    if (home !== region) throw new PolicyError(`policies are dropped in region ${home}`);
    const policy = this.byName.get(name);
    if (policy === undefined) return false;
    const set = this.current as PolicySet;
    const policies = set.policies.filter((other) => other !== policy);
    this.replace({ ...set, version: nextVersion(set, nowMs), policies });
    return true;
  }

  /** At the home: nobody who was asked knows of any policies, so there are none. True when that is news, to be told to all. */
  begin(): boolean {
    const { home, region } = this.options;
    if (home !== region || this.current !== undefined) return false;
    this.replace({ home, lineage: this.options.incarnation, version: 1, lastNumber: 0, policies: [] });
    return true;
  }

  /** From a peer; true when it was news. */
  adopt(set: PolicySet): boolean {
    if (set.home !== this.options.home || set.version <= this.version) return false;
    const before = this.current;
    // What an earlier set did not have began since. Without one, nothing is proven.
    if (before?.lineage === set.lineage)
      for (const { number } of set.policies) if (number > before.lastNumber) this.begun.add(number);
    this.replace(set);
    return true;
  }

  private replace(set: PolicySet): void {
    this.current = set;
    this.index();
    this.save();
  }

  private index(): void {
    this.byName.clear();
    this.byNumber.clear();
    for (const policy of this.list()) {
      this.byName.set(policy.name, policy);
      this.byNumber.set(policy.number, policy);
    }
  }
}

/** Higher than any that a home could have made before it lost its memory. */
function nextVersion(set: PolicySet, nowMs: number): number {
  return Math.max(set.version + 1, Math.floor(nowMs));
}

function check({ name, limit, windowMs, shares, waitMs, allocator }: Definition): void {
  const isWhole = (value: number, least: number, most: number) =>
    Number.isSafeInteger(value) && value >= least && value <= most;
  if (name === '' || Buffer.byteLength(name) > MAXIMUM_NAME_BYTES)
    throw new PolicyError(`a policy's name has 1 to ${MAXIMUM_NAME_BYTES} bytes`);
  if (!isWhole(limit, 0, MAXIMUM_LIMIT)) throw new PolicyError(`a limit is a whole number from 0 to ${MAXIMUM_LIMIT}`);
  if (!isWhole(windowMs, 0, MAXIMUM_WINDOW_MS))
    throw new PolicyError(`a window has 1 to ${MAXIMUM_WINDOW_MS} milliseconds, or there is NONE`);
  if (!isWhole(waitMs, 0, 3_600_000)) throw new PolicyError('a caller waits 0 to 3600000 milliseconds');
  if (allocator === '') throw new PolicyError('a policy has an allocator');
  const sum = shares.reduce((total, share) => total + share.fraction, 0);
  if (shares.some(({ fraction }) => !(fraction > 0 && fraction <= 1)) || sum > 1)
    throw new PolicyError('shares are fractions above 0 that come to at most 1');
  if (new Set(shares.map((share) => share.region)).size !== shares.length)
    throw new PolicyError('a region has one share');
}
