import { EPOCH_MS } from '@quotadb/engine';
import { Grantees, type SavedGrantees } from './grantees.js';
import { type Definition, type Policy, reachMs, startingRegions, windowStartMs } from './policy.js';
import { checkDefinition, MAXIMUM_NUMBER, MAXIMUM_POLICIES, PolicyError, type PolicySet } from './policy-set.js';

/** What is kept on disk. */
export interface SavedBook extends SavedGrantees {
  readonly set: PolicySet | undefined;
  readonly incarnation: string;
  /** When this incarnation began, by its own clock. */
  readonly beganMs: number;
  /** Policies defined before this are not begun with: an earlier part of this life may have, and its memory is lost. */
  readonly startsFromMs: number;
}

/** What the home knows of a region that is there now. */
export interface RegionState {
  readonly incarnation: string;
  readonly hasDisk: boolean;
}

export interface PolicyBookOptions {
  readonly home: string;
  readonly region: string;
  /** This life of the replica. */
  readonly incarnation: string;
  /** False where this life has run before: if nothing is saved of it, it has forgotten something. */
  readonly isNewIncarnation: boolean;
  readonly hasDisk: boolean;
  readonly nowMs: number;
  readonly skewBoundMs: number;
  /** There are no peers that could know of policies which this node has forgotten. */
  readonly isAlone: boolean;
  readonly saved?: SavedBook;
  /** Writes it to disk, and returns when it is there; throws where it cannot. Nothing where there is no disk. */
  readonly save: (book: SavedBook) => void;
}

/**
 * The policies of the cluster. One region is their home: only there they are defined and changed, so that no limit is ever
 * given out by two allocators; everybody else holds the newest set that the home has sent.
 *
 * An allocator that lost its memory must not give the limit out a second time. So a life of a region starts an allotment with its
 * share only where nobody can have done so before in its place: the window began after it did, with room for clocks that
 * differ; or the home saw this very life when it defined the policy.
 */
export class PolicyBook {
  private readonly options: PolicyBookOptions;
  private readonly beganMs: number;
  private readonly startsFromMs: number;
  private current: PolicySet | undefined;
  private byName = new Map<string, Policy>();
  private byNumber = new Map<number, Policy>();
  readonly grantees: Grantees;

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, home, region, incarnation, nowMs } = options;
    const isSameLife = saved?.incarnation === incarnation;
    this.beganMs = isSameLife ? saved.beganMs : nowMs;
    const hasForgotten = saved === undefined && !options.isNewIncarnation;
    this.startsFromMs = isSameLife ? saved.startsFromMs : hasForgotten ? nowMs + options.skewBoundMs : 0;
    this.grantees = new Grantees(isSameLife ? saved : undefined, (grantees) => this.save(this.current, grantees));
    this.current = saved?.set?.home === home ? saved.set : undefined;
    this.index();
    if (home === region && options.isAlone && this.current === undefined) this.begin();
    else if (!isSameLife) this.save(this.current, this.grantees.saved);
  }

  /** Undefined before the home was heard of. */
  get set(): PolicySet | undefined {
    return this.current;
  }

  get version(): number {
    return this.current?.version ?? 0;
  }

  get home(): string {
    return this.options.home;
  }

  get isHome(): boolean {
    return this.options.home === this.options.region;
  }

  private save(set: PolicySet | undefined, grantees: SavedGrantees): void {
    const { incarnation, save } = this.options;
    save({ set, incarnation, beganMs: this.beganMs, startsFromMs: this.startsFromMs, ...grantees });
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

  /** Whether this incarnation may hold its share of an allotment as it begins. */
  mayStart(policy: Policy, window: number): boolean {
    const { region, incarnation, skewBoundMs } = this.options;
    const isStarter = policy.starters.some(
      (starter) => starter.region === region && starter.incarnation === incarnation,
    );
    if (isStarter && policy.definedMs >= this.startsFromMs) return true;
    return windowStartMs(policy, window) >= this.beganMs + skewBoundMs + reachMs(policy, skewBoundMs);
  }

  /**
   * At the home: a new policy, or other numbers for one that is there. `regionState` tells of regions that are there now.
   * One that is only said again, as by a file at every start, may be older than all of them: nobody starts with it before
   * its next window.
   */
  define(
    definition: Definition,
    nowMs: number,
    regionState: (region: string) => RegionState | undefined = () => undefined,
    isSaidAgain = false,
  ): Policy {
    this.mustBeHome();
    checkDefinition(definition);
    const set = this.current;
    if (set === undefined)
      throw new PolicyError(
        'the home of policies has no memory of them and has not heard from a peer yet: try again soon',
      );
    const before = this.byName.get(definition.name);
    if (before !== undefined) return this.change(set, before, definition, nowMs);
    if (set.policies.length >= MAXIMUM_POLICIES)
      throw new PolicyError(`there are ${MAXIMUM_POLICIES} policies already`);
    const { name, limit, leaseMs = 0, allocator, shares, waitMs } = definition;
    // So that a lease reaches into one further window at most, by any clock.
    const windowMs = leaseMs === 0 ? definition.windowMs : leaseMs + this.options.skewBoundMs;
    const starters = [...startingRegions(definition)].flatMap((region) => {
      const state = this.stateOf(region, regionState);
      if (windowMs === 0) this.mustLast(region, state);
      return state === undefined ? [] : [{ region, incarnation: state.incarnation }];
    });
    if (windowMs === 0 && isSaidAgain)
      throw new PolicyError('a quota without a window cannot come from a file: QUOTA.DEFINE it once');
    const number = Math.max(set.lastNumber + 1, Math.floor((nowMs - EPOCH_MS) / 1000));
    if (number > MAXIMUM_NUMBER) throw new PolicyError('there are no numbers left for policies');
    const policy: Policy = {
      number,
      name,
      limit,
      windowMs,
      ...(leaseMs > 0 && { leaseMs }),
      allocator,
      shares,
      waitMs,
      definedMs: nowMs,
      starters: isSaidAgain ? [] : starters,
    };
    this.replace({ ...set, version: nextVersion(set, nowMs), lastNumber: number, policies: [...set.policies, policy] });
    return policy;
  }

  /** Only what no region could misunderstand that has not heard of it yet. */
  private change(set: PolicySet, before: Policy, definition: Definition, nowMs: number): Policy {
    const { limit, windowMs, leaseMs = 0, allocator, shares, waitMs } = definition;
    const isFixed = (what: string) =>
      new PolicyError(`the ${what} of a policy cannot be changed: drop it and define it anew`);
    if ((before.leaseMs ?? 0) !== leaseMs) throw isFixed('lease');
    if (leaseMs === 0 && before.windowMs !== windowMs) throw isFixed('window');
    if (before.allocator !== allocator) throw isFixed('allocator');
    if (JSON.stringify(before.shares) !== JSON.stringify(shares)) throw isFixed('shares');
    // A limit can change: whoever starts with a part of the old one makes no more of it than the higher of the two.
    if (before.limit === limit && before.waitMs === waitMs) return before;
    const policy: Policy = { ...before, limit, waitMs };
    const policies = set.policies.map((other) => (other === before ? policy : other));
    this.replace({ ...set, version: nextVersion(set, nowMs), policies });
    return policy;
  }

  drop(name: string, nowMs: number): boolean {
    this.mustBeHome();
    const policy = this.byName.get(name);
    if (policy === undefined) return false;
    const set = this.current as PolicySet;
    const policies = set.policies.filter((other) => other !== policy);
    this.replace({ ...set, version: nextVersion(set, nowMs), policies });
    return true;
  }

  /** At the home: nobody who was asked knows of any policies, so there are none. True when that is news, to be told to all. */
  begin(): boolean {
    const { home } = this.options;
    if (!this.isHome || this.current !== undefined) return false;
    this.replace({ home, version: 1, lastNumber: 0, policies: [] });
    return true;
  }

  /** From a peer; true when it was news. */
  adopt(set: PolicySet): boolean {
    if (set.home !== this.options.home || set.version <= this.version) return false;
    this.replace(set);
    return true;
  }

  private mustBeHome(): void {
    if (!this.isHome) throw new PolicyError(`policies are defined in region ${this.options.home}, their home`);
  }

  private stateOf(region: string, regionState: (region: string) => RegionState | undefined): RegionState | undefined {
    const { incarnation, hasDisk } = this.options;
    return region === this.options.region ? { incarnation, hasDisk } : regionState(region);
  }

  /** What a limit without a window loses is lost for ever. */
  private mustLast(region: string, state: RegionState | undefined): void {
    if (state === undefined)
      throw new PolicyError(
        `a quota without a window begins where it starts: region ${region} must be connected to its home when it is defined`,
      );
    if (!state.hasDisk)
      throw new PolicyError(
        `a quota without a window needs a disk in region ${region} (--data): with its memory the tokens would be lost for ever`,
      );
  }

  private replace(set: PolicySet): void {
    this.save(set, this.grantees.saved);
    this.current = set;
    this.index();
  }

  private index(): void {
    this.byName = new Map(this.list().map((policy) => [policy.name, policy]));
    this.byNumber = new Map(this.list().map((policy) => [policy.number, policy]));
  }
}

/** Higher than any that a home could have made before it lost its memory. */
function nextVersion(set: PolicySet, nowMs: number): number {
  return Math.max(set.version + 1, Math.floor(nowMs));
}
