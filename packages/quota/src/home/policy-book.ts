import { regionOfServer } from '@quotadb/wire';
import { type Awaited, type Divided, divide, findAwaited, partOf } from '../policies/divisions.js';
import { type Definition, initialOf, type Policy } from '../policies/policy.js';
import {
  checkPolicySet,
  dateSetAnew,
  MAXIMUM_VERSION_AHEAD_MS,
  mustLast,
  PolicyError,
  type PolicySet,
  type RegionState,
} from '../policies/policy-set.js';
import { noSuchPolicy } from '../policies/request-mistakes.js';
import type { Seal } from '../policies/seals.js';
import { type SharedSet, sharedOf } from '../policies/shared-policies.js';
import { type Stamp, withStamps } from '../policies/stamps.js';
import type { PolicyBookOptions, SavedPolicies } from './book-options.js';
import { divideContext, type ServersView } from './divide-context.js';
import { type ExtraRequest, giveExtra } from './extras.js';
import { Grantees, type SavedGrantees } from './grantees.js';
import { inherit, type Lost } from './inheritance.js';
import { type ChangeContext, definePolicy, dropPolicy, replaceCatalogued } from './policy-changes.js';
import { Tenure } from './tenure.js';

type StateOf = (region: string) => RegionState | undefined;
/** A set that the disk did not take is tried again after this time. */
const RETRY_MS = 1000;
/** Where a definition comes from. */
export type DefinitionSource = Partial<Pick<ChangeContext, 'isRepeated' | 'knownRegions'>>;

/**
 * The policies of the cluster. One region is their home: only there they are defined and changed, so that no limit is
 * ever given out by two allocators; every other region holds the newest set that the home has sent.
 */
export class PolicyBook {
  private readonly options: PolicyBookOptions;
  private current: PolicySet | undefined;
  private currentSeal: Seal | undefined;
  private isWritten: boolean;
  /** A set of a peer that could not be written. Peers do not send it again. */
  private unwritten: { set: PolicySet; seal: Seal | undefined; retryAtMs: number } | undefined = undefined;
  private byName = new Map<string, Policy>();
  private byNumber = new Map<number, Policy>();
  readonly grantees: Grantees;
  readonly tenure: Tenure;

  constructor(options: PolicyBookOptions) {
    this.options = options;
    const { saved, former, home, region } = options;
    this.tenure = new Tenure(options);
    const { isContinued } = this.tenure;
    this.grantees = new Grantees(isContinued ? saved : undefined, (grantees) => this.save(grantees));
    const kept = saved ?? former;
    const isOfHome = kept?.set?.home === home;
    this.current = isOfHome ? kept.set : undefined;
    this.currentSeal = isOfHome ? kept.seal : undefined;
    this.isWritten = home === region && saved?.set !== undefined && isOfHome && saved.isOwn !== false;
    this.index();
    if (home === region && options.isAlone && this.current === undefined) this.begin();
    else if (!isContinued) this.save(this.grantees.saved);
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

  /** The allocator of policies that name none: of a region with members all of them. */
  get homeRegion(): string {
    return regionOfServer(this.options.home);
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
    this.options.save({ ...policies, ...this.tenure.saved, ...grantees });
  }

  /** Another server runs under the name of this region: until `resume` this one starts no allotment. */
  suspend(): void {
    if (this.tenure.suspend()) this.save(this.grantees.saved);
  }

  /** The name is this server's again. */
  resume(nowMs: number): void {
    if (this.tenure.resume(nowMs)) this.save(this.grantees.saved);
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

  get catalogue(): unknown {
    return this.current?.catalogue;
  }

  /** The tokens that a server starts an allotment of this limit with, where it may start it. */
  initialOf(policy: Policy, window: number, limit: number, name = this.options.region): number {
    const { skewBoundMs } = this.options;
    const region = regionOfServer(name);
    const division = this.current?.divisions?.find((other) => other.region === region);
    const amount = initialOf(policy, region, limit);
    const named = region === name ? 0 : initialOf(policy, name, limit);
    return named + partOf(division, { name, amount, policy, window, skewBoundMs });
  }

  /** The members of every region that has some. */
  divided(): Divided[] {
    return (this.current?.divisions ?? []).flatMap(({ region, steps }) =>
      steps.slice(-1).map(({ members, agreedMs }) => ({ region, members, isAgreed: agreedMs !== undefined })),
    );
  }

  /** At the home: takes the next step towards a division of tokens among the members that there are; true if any. */
  divide(view: ServersView, nowMs: number): boolean {
    const set = this.current;
    if (!this.isHome || set === undefined || this.isAhead(nowMs)) return false;
    const divisions = divide(set.divisions, divideContext(set, view, nowMs));
    if (divisions === set.divisions) return false;
    this.write({ ...set, divisions }, nowMs);
    return true;
  }

  /** At the home: the changes of members that wait, and for which servers. */
  awaited(view: ServersView, nowMs: number): Awaited[] {
    const set = this.current;
    return this.isHome && set !== undefined ? findAwaited(set.divisions, divideContext(set, view, nowMs)) : [];
  }

  /** At the home: a new policy, or other numbers for one that exists. */
  define(
    definition: Definition,
    nowMs: number,
    stateOf: StateOf = () => undefined,
    source: DefinitionSource = {},
  ): Policy {
    const set = this.mustHaveSet();
    this.change(definePolicy(set, definition, this.contextOf(nowMs, stateOf, source)), nowMs);
    return this.byName.get(definition.name) as Policy;
  }

  drop(name: string, nowMs: number): boolean {
    this.mustBeHome();
    const set = this.current;
    if (set === undefined || !this.byName.has(name)) return false;
    this.change(dropPolicy(set, name, this.contextOf(nowMs)), nowMs);
    return true;
  }

  /**
   * At the home: a change of the catalogue, and its policies in place of those of the one before; null takes it away.
   * All of it is one new version of the set; where any part is refused, nothing changes.
   */
  replaceCatalogue(
    change: unknown,
    nowMs: number,
    stateOf: StateOf = () => undefined,
    source: DefinitionSource = {},
  ): void {
    const set = this.mustHaveSet();
    const reader = this.options.catalogue;
    if (reader === undefined) throw new PolicyError('this server keeps no catalogue of limits');
    const isNone = change === null || change === undefined;
    const given = isNone ? undefined : reader.apply(change, set.catalogue, nowMs);
    this.checkCatalogue(given);
    const partial = isNone ? [] : reader.definitionsOf(given, nowMs);
    const definitions = partial.map((definition) => ({
      ...definition,
      allocator: definition.allocator ?? this.homeRegion,
    }));
    const context = { ...this.contextOf(nowMs, stateOf, source), isCatalogued: true };
    const { catalogue: _, ...changed } = replaceCatalogued(set, definitions, context);
    this.write({ ...changed, ...(!isNone && { catalogue: given }) }, nowMs);
  }

  /** The part that is the same in all groups of a cluster. */
  get shared(): SharedSet {
    const reader = this.options.catalogue;
    return sharedOf(this.current, (given) => (given === undefined ? undefined : reader?.written(given)));
  }

  /** At the home: these policies, and the catalogue where it has a stamp, were changed by a client of some group. */
  stamp(stamps: readonly Stamp[], catalogueStamp: number | undefined, nowMs: number): void {
    const set = this.mustHaveSet();
    const merged = stamps.length === 0 ? set.stamps : withStamps(set.stamps, stamps);
    this.write({ ...set, stamps: merged, catalogueStamp: catalogueStamp ?? set.catalogueStamp }, nowMs);
  }

  /** Throws a PolicyError for a set whose catalogue this region cannot read. */
  checkCatalogue(catalogue: unknown): void {
    if (catalogue !== undefined) this.options.catalogue?.check(catalogue);
  }

  /** At the home: extra tokens of a subject in the current window. A repetition of the same operation adds nothing. */
  giveExtra(name: string, request: ExtraRequest, nowMs: number): Policy {
    const set = this.mustHaveSet();
    const before = this.byName.get(name);
    if (before === undefined) throw new PolicyError(noSuchPolicy(name));
    const policy = giveExtra(before, request, nowMs, this.options.skewBoundMs);
    const policies = set.policies.map((other) => (other === before ? policy : other));
    if (policy !== before) this.write({ ...set, policies }, nowMs);
    return policy;
  }

  /** At the home, by an operator: it inherits the tokens of incarnations that are lost for good. See inheritance.ts. */
  remint(name: string, lost: readonly Lost[], nowMs: number): void {
    this.mustBeHome();
    const { region, incarnation, hasDisk } = this.options;
    const set = this.current as PolicySet;
    mustLast(region, { incarnation, hasDisk });
    const policies = set.policies.map((policy) => (policy.name === name ? inherit(policy, incarnation, lost) : policy));
    this.write({ ...set, policies }, nowMs);
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
    this.unwritten = { set, seal, retryAtMs: nowMs + RETRY_MS };
    this.replace(set, seal, false);
    this.unwritten = undefined;
    return true;
  }

  /** Takes over the set that could not be written when it came, once the disk works again; true where it did. */
  retry(nowMs: number): boolean {
    const { unwritten } = this;
    if (unwritten === undefined || nowMs < unwritten.retryAtMs) return false;
    this.unwritten = undefined;
    try {
      return this.adopt(unwritten.set, nowMs, unwritten.seal);
    } catch {
      return false;
    }
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

  /**
   * The clock was far ahead, and is right again: dates that it gave are dates of now. The counters of windows that were
   * over by it have expired, so windowed quotas begin with the next window.
   */
  dateAnew(nowMs: number): void {
    this.tenure.dateAnew(nowMs);
    if (this.isHome && this.isWritten) this.settle(dateSetAnew(this.current as PolicySet, nowMs), nowMs);
    else this.save(this.grantees.saved);
  }

  private isAhead(nowMs: number): boolean {
    return this.version > nowMs + MAXIMUM_VERSION_AHEAD_MS;
  }

  private mustBeHome(): void {
    if (!this.isHome) throw new PolicyError(`policies are defined in region ${this.options.home}, their home`);
  }

  private mustHaveSet(): PolicySet {
    this.mustBeHome();
    if (this.current === undefined)
      throw new PolicyError(
        'the home of policies has no memory of them and has not heard from a peer yet: try again soon',
      );
    return this.current;
  }

  private contextOf(nowMs: number, stateOf: StateOf = () => undefined, source: DefinitionSource = {}): ChangeContext {
    const { region, incarnation, hasDisk, skewBoundMs } = this.options;
    return {
      nowMs,
      skewBoundMs,
      stateOf: (other) => (other === region ? { incarnation, hasDisk } : stateOf(other)),
      isRepeated: source.isRepeated ?? false,
      isCatalogued: false,
      knownRegions: source.knownRegions,
    };
  }

  /** Writes a set that differs from the own one. */
  private change(set: PolicySet, nowMs: number): void {
    if (set !== this.current) this.write(set, nowMs);
  }

  /** At the home: the next version. It is higher than any that a home could have made before it lost its memory. */
  private write(set: PolicySet, nowMs: number): void {
    if (this.isAhead(nowMs))
      throw new PolicyError(
        `the version of the policies is ${set.version}, more than a day ahead of the clock, and other regions refuse ` +
          'it: when the clock is right, QUOTA.HOME KEEP gives them a new one',
      );
    const next = { ...set, version: Math.max(set.version + 1, Math.floor(nowMs)) };
    this.replace(checkPolicySet(next), undefined, true);
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
