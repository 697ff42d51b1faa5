import { EPOCH_MS } from '@quotadb/engine';
import { Grantees, type SavedGrantees } from './grantees.js';
import {
  type Definition,
  type Policy,
  reachMs,
  startingRegions,
  windowAt,
  windowEndMs,
  windowStartMs,
} from './policy.js';
import {
  checkDefinition,
  type DroppedPolicy,
  MAXIMUM_NUMBER,
  MAXIMUM_POLICIES,
  MAXIMUM_VERSION_AHEAD_MS,
  PolicyError,
  type PolicySet,
} from './policy-set.js';
import type { Seal } from './seals.js';

/** Policies as they are saved on disk. */
export interface SavedPolicies {
  readonly set: PolicySet | undefined;
  /** The home's, where this region has received it. */
  readonly seal?: Seal | undefined;
}

/** The book as it is saved on disk. */
export interface SavedBook extends SavedPolicies, SavedGrantees {
  /** At the home: it has written the set itself. Left out by earlier versions, whose home always had. */
  readonly isOwn?: boolean | undefined;
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
  /** Policies of a book that is lost. What it said about tokens is not known. */
  readonly former?: SavedPolicies | undefined;
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
  /** The book of this very incarnation was on disk: what the process before this one did with tokens is known. */
  readonly isContinued: boolean;
  private current: PolicySet | undefined;
  private currentSeal: Seal | undefined;
  private isWritten: boolean;
  private byName = new Map<string, Policy>();
  private byNumber = new Map<number, Policy>();
  readonly grantees: Grantees;

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, former, home, region, incarnation, nowMs } = options;
    const isSameIncarnation = saved?.incarnation === incarnation;
    this.isContinued = isSameIncarnation;
    this.beganMs = isSameIncarnation ? saved.beganMs : nowMs;
    const hasLostFile = saved === undefined && !options.isNewIncarnation;
    this.startsFromMs = isSameIncarnation ? saved.startsFromMs : hasLostFile ? nowMs + options.skewBoundMs : 0;
    this.heldFromMs = !isSameIncarnation ? 0 : saved.isSuspended ? nowMs : (saved.heldFromMs ?? 0);
    this.grantees = new Grantees(isSameIncarnation ? saved : undefined, (grantees) => this.save(grantees));
    const kept = saved ?? former;
    const isOfHome = kept?.set?.home === home;
    this.current = isOfHome ? kept.set : undefined;
    this.currentSeal = isOfHome ? kept.seal : undefined;
    this.isWritten = home === region && saved?.set !== undefined && isOfHome && saved.isOwn !== false;
    this.index();
    if (home === region && options.isAlone && this.current === undefined) this.begin();
    else if (!isSameIncarnation) this.save(this.grantees.saved);
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

  /** At the home: it has written the set itself, and takes no other for it. */
  get isOwn(): boolean {
    return this.isWritten;
  }

  /** The home's seal, in a region that has received it. */
  get seal(): Seal | undefined {
    return this.currentSeal;
  }

  private save(
    grantees: SavedGrantees,
    policies: SavedPolicies & { readonly isOwn: boolean } = {
      set: this.current,
      seal: this.currentSeal,
      isOwn: this.isWritten,
    },
  ): void {
    const { incarnation, save } = this.options;
    const { beganMs, startsFromMs, heldFromMs, isSuspended } = this;
    const held = { ...(heldFromMs > 0 && { heldFromMs }), ...(isSuspended && { isSuspended }) };
    save({ ...policies, incarnation, beganMs, startsFromMs, ...held, ...grantees });
  }

  /** Another server runs under the name of this region: until `resume` this one starts no allotment. */
  suspend(): void {
    if (this.isSuspended) return;
    this.isSuspended = true;
    this.save(this.grantees.saved);
  }

  /** The name is this server's. It starts the allotments of windows that begin from now on, as a new incarnation does. */
  resume(nowMs: number): void {
    if (!this.isSuspended) return;
    this.isSuspended = false;
    this.heldFromMs = nowMs;
    this.save(this.grantees.saved);
  }

  named(name: string): Policy | undefined {
    return this.byName.get(name);
  }

  numbered(number: number): Policy | undefined {
    return this.byNumber.get(number);
  }

  /** A policy that is dropped and may be defined again. */
  droppedNumbered(number: number): Policy | undefined {
    return this.current?.dropped?.find((policy) => policy.number === number);
  }

  list(): readonly Policy[] {
    return this.current?.policies ?? [];
  }

  /** Whether this incarnation may hold its share of an allotment as it begins. */
  mayStart(policy: Policy, window: number): boolean {
    const { region, incarnation, skewBoundMs } = this.options;
    if (this.isSuspended) return false;
    if (windowStartMs(policy, window) < (policy.startsFromMs ?? Number.NEGATIVE_INFINITY)) return false;
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
    const dropped = set.dropped?.find((other) => other.name === name && this.isOpen(other, nowMs));
    if (dropped !== undefined && isAlike(dropped, definition)) return this.revive(set, dropped, definition, nowMs);
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
      ...(dropped !== undefined && windowMs > 0 && { startsFromMs: nowMs }),
    };
    this.write({ ...set, lastNumber: number, policies: [...set.policies, policy] }, nowMs);
    return policy;
  }

  /** A dropped policy goes on with its number, so what was used in its window is not given out again. */
  private revive(set: PolicySet, dropped: DroppedPolicy, { limit, waitMs }: Definition, nowMs: number): Policy {
    const { droppedMs: _, ...before } = dropped;
    const policy: Policy = { ...before, limit, waitMs };
    const others = set.dropped?.filter((other) => other !== dropped);
    this.write({ ...set, policies: [...set.policies, policy], dropped: others }, nowMs);
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
    this.write({ ...set, policies }, nowMs);
    return policy;
  }

  drop(name: string, nowMs: number): boolean {
    this.mustBeHome();
    const policy = this.byName.get(name);
    if (policy === undefined) return false;
    const set = this.current as PolicySet;
    const policies = set.policies.filter((other) => other !== policy);
    const isRecent = (other: DroppedPolicy) => other.name !== name && this.isOpen(other, nowMs);
    const recent = (set.dropped ?? []).filter(isRecent).slice(1 - MAXIMUM_POLICIES);
    const dropped = [...recent, { ...policy, droppedMs: nowMs }];
    this.write({ ...set, policies, dropped }, nowMs);
    return true;
  }

  /** Whether tokens of a dropped policy may be from a window that is not over by every clock. */
  private isOpen(policy: DroppedPolicy, nowMs: number): boolean {
    const { skewBoundMs } = this.options;
    const lastMs = policy.droppedMs + skewBoundMs + reachMs(policy, skewBoundMs);
    return windowEndMs(policy, windowAt(policy, lastMs)) + skewBoundMs > nowMs;
  }

  /** At the home: no peer has any policies, so there are none. True when that is news, to be sent to all peers. */
  begin(): boolean {
    const { home } = this.options;
    if (!this.isHome || this.current !== undefined) return false;
    this.replace({ home, version: 1, lastNumber: 0, policies: [] }, undefined, false);
    return true;
  }

  /**
   * Whether a set is newer than the own one. An own version that is further ahead of the clock than any that is taken
   * over is older than all: an earlier release took it over from a peer, or the clock of this home was wrong.
   */
  isNews(set: PolicySet, nowMs: number): boolean {
    return set.home === this.options.home && set.version > (this.isAhead(nowMs) ? 0 : this.version);
  }

  /** Takes over a set from a peer that may send it (FrameGate); true when it was news. */
  adopt(set: PolicySet, nowMs: number, seal?: Seal): boolean {
    if (!this.isNews(set, nowMs)) return false;
    this.replace(set, seal, false);
    return true;
  }

  /** At the home, by an operator: the policies of a set, its own or another's, from now on as its own. */
  settle(set: PolicySet, nowMs: number, others: readonly PolicySet[] = []): void {
    this.mustBeHome();
    const { home } = this.options;
    const known = [set, ...others, ...(this.current === undefined ? [] : [this.current])];
    const latest = known.filter(({ version }) => version <= nowMs + MAXIMUM_VERSION_AHEAD_MS);
    const version = Math.max(Math.floor(nowMs), ...latest.map((other) => other.version + 1));
    const lastNumber = Math.max(...known.map((other) => other.lastNumber));
    this.replace({ ...set, home, version, lastNumber }, undefined, true);
  }

  private isAhead(nowMs: number): boolean {
    return this.version > nowMs + MAXIMUM_VERSION_AHEAD_MS;
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

  /** At the home: the next version. It is higher than any that a home could have made before it lost its memory. */
  private write(set: PolicySet, nowMs: number): void {
    if (this.isAhead(nowMs))
      throw new PolicyError(
        `the version of the policies is ${set.version}, more than a day ahead of the clock, and other regions refuse ` +
          'it: when the clock is right, QUOTA.HOME KEEP gives them a new one',
      );
    this.replace({ ...set, version: Math.max(set.version + 1, Math.floor(nowMs)) }, undefined, true);
  }

  private replace(set: PolicySet, seal: Seal | undefined, isOwn: boolean): void {
    this.save(this.grantees.saved, { set, seal, isOwn });
    this.current = set;
    this.currentSeal = seal;
    this.isWritten = isOwn;
    this.index();
  }

  private index(): void {
    this.byName = new Map(this.list().map((policy) => [policy.name, policy]));
    this.byNumber = new Map(this.list().map((policy) => [policy.number, policy]));
  }
}

const WINDOWLESS = 'a quota without a window';

/** Whether a definition differs from a policy in nothing but numbers that can be changed. */
function isAlike(policy: Policy, { windowMs, leaseMs = 0, allocator, shares }: Definition): boolean {
  const isSameTime = (policy.leaseMs ?? 0) === leaseMs && (leaseMs > 0 || policy.windowMs === windowMs);
  return isSameTime && policy.allocator === allocator && JSON.stringify(policy.shares) === JSON.stringify(shares);
}
