import { EPOCH_MS } from '@quotadb/engine';
import { Grantees, type SavedGrantees } from './grantees.js';
import { type Definition, type Policy, reachMs, startingRegions, windowStartMs } from './policy.js';
import { checkDefinition, MAXIMUM_NUMBER, MAXIMUM_POLICIES, PolicyError, type PolicySet } from './policy-set.js';

/** The book as it is saved on disk. */
export interface SavedBook extends SavedGrantees {
  readonly set: PolicySet | undefined;
  readonly incarnation: string;
  /** When this incarnation began, by its own clock. */
  readonly beganMs: number;
  /**
   * This incarnation takes no initial rights of policies defined before this: it may have spent them, and lost its
   * file.
   */
  readonly startsFromMs: number;
  /** Since when no other server runs under the name of this region, as far as peers know. Absent: always. */
  readonly heldFromMs?: number;
  /** Another one runs, or did when this was saved. */
  readonly isSuspended?: boolean;
}

/** The state of a region that the home can reach now. */
export interface RegionState {
  readonly incarnation: string;
  readonly hasDisk: boolean;
}

export interface PolicyBookOptions {
  readonly home: string;
  readonly region: string;
  readonly incarnation: string;
  /** False where this incarnation has run before: if nothing is saved of it, its file is lost. */
  readonly isNewIncarnation: boolean;
  readonly hasDisk: boolean;
  readonly nowMs: number;
  readonly skewBoundMs: number;
  /** No peer could know of policies that this node has lost. */
  readonly isAlone: boolean;
  readonly saved?: SavedBook;
  /** Writes it to disk, and returns when it is there; throws where it cannot. Does nothing without a disk. */
  readonly save: (book: SavedBook) => void;
}

/**
 * The policies of the cluster. One region is their home: only there they are defined and changed, so that no limit is
 * ever given out by two allocators; every other region holds the newest set that the home has sent.
 *
 * An allocator that lost its memory must not give the limit out a second time. So an incarnation of a region starts an
 * allotment with its share only where no earlier incarnation can have done so: the window began after this incarnation,
 * with room for clocks that differ; or the home saw this incarnation when it defined the policy.
 */
export class PolicyBook {
  private readonly options: PolicyBookOptions;
  private readonly beganMs: number;
  private readonly startsFromMs: number;
  private heldFromMs: number;
  private isSuspended = false;
  private current: PolicySet | undefined;
  private byName = new Map<string, Policy>();
  private byNumber = new Map<number, Policy>();
  readonly grantees: Grantees;

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, home, region, incarnation, nowMs } = options;
    const isSameIncarnation = saved?.incarnation === incarnation;
    this.beganMs = isSameIncarnation ? saved.beganMs : nowMs;
    const hasLostFile = saved === undefined && !options.isNewIncarnation;
    this.startsFromMs = isSameIncarnation ? saved.startsFromMs : hasLostFile ? nowMs + options.skewBoundMs : 0;
    this.heldFromMs = !isSameIncarnation ? 0 : saved.isSuspended ? nowMs : (saved.heldFromMs ?? 0);
    this.grantees = new Grantees(isSameIncarnation ? saved : undefined, (grantees) =>
      this.save(this.current, grantees),
    );
    this.current = saved?.set?.home === home ? saved.set : undefined;
    this.index();
    if (home === region && options.isAlone && this.current === undefined) this.begin();
    else if (!isSameIncarnation) this.save(this.current, this.grantees.saved);
  }

  /** Undefined until a set of the home has arrived. */
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
    const { beganMs, startsFromMs, heldFromMs, isSuspended } = this;
    const held = { ...(heldFromMs > 0 && { heldFromMs }), ...(isSuspended && { isSuspended }) };
    save({ set, incarnation, beganMs, startsFromMs, ...held, ...grantees });
  }

  /** Another server runs under the name of this region: until `resume` this one starts no allotment. */
  suspend(): void {
    if (this.isSuspended) return;
    this.isSuspended = true;
    this.save(this.current, this.grantees.saved);
  }

  /** The name is this server's. It starts the allotments of windows that begin from now on, as a new incarnation does. */
  resume(nowMs: number): void {
    if (!this.isSuspended) return;
    this.isSuspended = false;
    this.heldFromMs = nowMs;
    this.save(this.current, this.grantees.saved);
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
    if (this.isSuspended) return false;
    const isStarter = policy.starters.some(
      (starter) => starter.region === region && starter.incarnation === incarnation,
    );
    // Only one incarnation is ever the starter of a quota without a window; all windows of others come again.
    const isHeld = policy.windowMs === 0 || policy.definedMs >= this.heldFromMs;
    if (isStarter && policy.definedMs >= this.startsFromMs && isHeld) return true;
    const fromMs = Math.max(this.beganMs, this.heldFromMs);
    return windowStartMs(policy, window) >= fromMs + skewBoundMs + reachMs(policy, skewBoundMs);
  }

  /**
   * At the home: a new policy, or other numbers for one that exists. `regionState` describes regions that can be
   * reached now. A policy that is repeated, as from a file at every start, may be older than all of them: no region
   * starts with it before its next window.
   */
  define(
    definition: Definition,
    nowMs: number,
    regionState: (region: string) => RegionState | undefined = () => undefined,
    isRepeated = false,
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
    if (windowMs === 0 && isRepeated)
      throw new PolicyError(`${WINDOWLESS} cannot come from a file: QUOTA.DEFINE it once`);
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
      starters: isRepeated ? [] : starters,
    };
    this.replace({ ...set, version: nextVersion(set, nowMs), lastNumber: number, policies: [...set.policies, policy] });
    return policy;
  }

  /** Changes only numbers that are safe while some regions still have the old ones. */
  private change(set: PolicySet, before: Policy, definition: Definition, nowMs: number): Policy {
    const { limit, windowMs, leaseMs = 0, allocator, shares, waitMs } = definition;
    const isFixed = (what: string) =>
      new PolicyError(`the ${what} of a policy cannot be changed: drop it and define it anew`);
    if ((before.leaseMs ?? 0) !== leaseMs) throw isFixed('lease');
    if (leaseMs === 0 && before.windowMs !== windowMs) throw isFixed('window');
    if (before.allocator !== allocator) throw isFixed('allocator');
    if (JSON.stringify(before.shares) !== JSON.stringify(shares)) throw isFixed('shares');
    // A limit can change: regions that start with the old one together give out no more than the higher of the two.
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

  /** At the home: no peer has any policies, so there are none. True when that is news, to be sent to all peers. */
  begin(): boolean {
    const { home } = this.options;
    if (!this.isHome || this.current !== undefined) return false;
    this.replace({ home, version: 1, lastNumber: 0, policies: [] });
    return true;
  }

  /** Takes over a set from a peer; true when it was news. */
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

  /** Tokens of a limit without a window are lost for ever with the state of their region. */
  private mustLast(region: string, state: RegionState | undefined): void {
    if (state === undefined)
      throw new PolicyError(
        `${WINDOWLESS} begins where it starts: region ${region} must be connected to its home when it is defined`,
      );
    if (!state.hasDisk)
      throw new PolicyError(
        `${WINDOWLESS} needs a disk in region ${region} (--data): with its memory the tokens would be lost for ever`,
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

const WINDOWLESS = 'a quota without a window';

/** Higher than any that a home could have made before it lost its memory. */
function nextVersion(set: PolicySet, nowMs: number): number {
  return Math.max(set.version + 1, Math.floor(nowMs));
}
