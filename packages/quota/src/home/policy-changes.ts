import { EPOCH_MS } from '@quotadb/engine';
import { startingServers } from '../policies/divisions.js';
import { settleOverrides } from '../policies/override-changes.js';
import {
  type Definition,
  findFixedDifference,
  isAlike,
  type Policy,
  reachMs,
  startingRegions,
  windowAt,
  windowEndMs,
} from '../policies/policy.js';
import {
  checkDefinition,
  type DroppedPolicy,
  MAXIMUM_NUMBER,
  MAXIMUM_POLICIES,
  mustLast,
  PolicyError,
  type PolicySet,
  type RegionState,
  WINDOWLESS,
} from '../policies/policy-set.js';

/** What a change of policies depends on beside the set. */
export interface ChangeContext {
  readonly nowMs: number;
  readonly skewBoundMs: number;
  /** Regions that can be reached now. */
  readonly stateOf: (region: string) => RegionState | undefined;
  /**
   * A policy that is repeated, as from a file at every start, may be older than all regions: none starts with it before
   * its next window.
   */
  readonly isRepeated: boolean;
  /** The catalogue makes the change, of its own policies. */
  readonly isCatalogued: boolean;
  /** Every region that may be named; undefined where it cannot be known yet. */
  readonly knownRegions: ReadonlySet<string> | undefined;
}

/** A set with a policy that is new, or has other numbers; the same set where nothing is different. */
export function definePolicy(set: PolicySet, definition: Definition, context: ChangeContext): PolicySet {
  checkDefinition(definition);
  const before = set.policies.find(({ name }) => name === definition.name);
  if (before !== undefined) return changePolicy(set, before, definition, context);
  checkRegions(definition, context);
  if (set.policies.length >= MAXIMUM_POLICIES) throw new PolicyError(`there are ${MAXIMUM_POLICIES} policies already`);
  const { nowMs } = context;
  const { name, limit, leaseMs = 0, calendar, allocator, shares, waitMs } = definition;
  const dropped = set.dropped?.find((other) => other.name === name && isOpen(other, context));
  if (dropped !== undefined && isAlike(dropped, definition)) return revivePolicy(set, dropped, definition, context);
  // So that a lease reaches into one further window at most, by any clock.
  const windowMs = leaseMs === 0 ? definition.windowMs : leaseMs + context.skewBoundMs;
  const starters = startersOf(set, definition, windowMs, context);
  const number = Math.max(set.lastNumber + 1, Math.floor((nowMs - EPOCH_MS) / 1000));
  if (number > MAXIMUM_NUMBER) throw new PolicyError('there are no numbers left for policies');
  const policy: Policy = {
    number,
    name,
    limit,
    windowMs,
    ...(calendar !== undefined && { calendar }),
    ...(leaseMs > 0 && { leaseMs }),
    allocator,
    shares,
    waitMs,
    ...changeableOf(definition, undefined, context),
    definedMs: nowMs,
    starters: context.isRepeated ? [] : starters,
    ...(dropped !== undefined && windowMs > 0 && { startsFromMs: nowMs }),
  };
  return { ...set, lastNumber: number, policies: [...set.policies, policy] };
}

/** A set without a policy; the same set where there is none of this name. */
export function dropPolicy(set: PolicySet, name: string, context: ChangeContext): PolicySet {
  const policy = set.policies.find((other) => other.name === name);
  if (policy === undefined) return set;
  checkOwner(policy, context);
  const policies = set.policies.filter((other) => other !== policy);
  const isRecent = (other: DroppedPolicy) => other.name !== name && isOpen(other, context);
  const recent = (set.dropped ?? []).filter(isRecent).slice(1 - MAXIMUM_POLICIES);
  return { ...set, policies, dropped: [...recent, { ...policy, droppedMs: context.nowMs }] };
}

/**
 * A set with the policies of a catalogue in place of those of the one before. A policy whose window or kind is another
 * is dropped and defined anew: it begins with its next window.
 */
export function replaceCatalogued(
  set: PolicySet,
  definitions: readonly Definition[],
  context: ChangeContext,
): PolicySet {
  const names = new Set(definitions.map(({ name }) => name));
  if (names.size !== definitions.length) throw new PolicyError('a catalogue has two limits of one name');
  let changed = set;
  for (const policy of set.policies) {
    const definition = definitions.find(({ name }) => name === policy.name);
    const isGone = definition === undefined || findFixedDifference(policy, definition) !== undefined;
    if (policy.isCatalogued && isGone) changed = dropPolicy(changed, policy.name, context);
  }
  for (const definition of definitions) changed = definePolicy(changed, definition, context);
  return changed;
}

/** Changes only numbers that are safe while some regions still have the old ones. */
function changePolicy(set: PolicySet, before: Policy, definition: Definition, context: ChangeContext): PolicySet {
  checkOwner(before, context);
  const fixed = findFixedDifference(before, definition);
  if (fixed !== undefined)
    throw new PolicyError(`the ${fixed} of a policy cannot be changed: drop it and define it anew`);
  // A limit can change: regions that start with the old one together give out no more than the higher of the two.
  const policy = withChangeable(before, definition, context);
  if (JSON.stringify(policy) === JSON.stringify(before)) return set;
  return { ...set, policies: set.policies.map((other) => (other === before ? policy : other)) };
}

/** A dropped policy goes on with its number, so what was used in its window is not given out again. */
function revivePolicy(
  set: PolicySet,
  dropped: DroppedPolicy,
  definition: Definition,
  context: ChangeContext,
): PolicySet {
  const { droppedMs: _, ...before } = dropped;
  const policy = withChangeable(before, definition, context);
  const others = set.dropped?.filter((other) => other !== dropped);
  return { ...set, policies: [...set.policies, policy], dropped: others };
}

/** In the order in which a new policy has its fields, so that equal policies are equal texts. */
function withChangeable(before: Policy, definition: Definition, context: ChangeContext): Policy {
  const { admitFraction: _, overrides: __, isCatalogued: ___, ...kept } = before;
  return {
    ...kept,
    limit: definition.limit,
    waitMs: definition.waitMs,
    ...changeableOf(definition, before, context),
  };
}

function changeableOf(
  { admitFraction = 0, overrides, windowMs }: Definition,
  before: Policy | undefined,
  { nowMs, isCatalogued }: ChangeContext,
): Pick<Policy, 'admitFraction' | 'overrides' | 'isCatalogued'> {
  const settled = settleOverrides(before?.overrides, overrides, before?.windowMs ?? windowMs, nowMs);
  return {
    ...(admitFraction > 0 && { admitFraction }),
    ...(settled.length > 0 && { overrides: settled }),
    ...(isCatalogued && { isCatalogued }),
  };
}

function startersOf(
  { divisions }: PolicySet,
  definition: Definition,
  windowMs: number,
  { stateOf, isRepeated }: ChangeContext,
) {
  const regions = [...startingRegions(definition)];
  const servers = new Set(regions.flatMap((region) => startingServers(divisions, region)));
  const starters = [...servers].flatMap((region) => {
    const state = stateOf(region);
    if (windowMs === 0) mustLast(region, state);
    return state === undefined ? [] : [{ region, incarnation: state.incarnation }];
  });
  if (windowMs === 0 && isRepeated)
    throw new PolicyError(`${WINDOWLESS} cannot come from a file: QUOTA.DEFINE it once`);
  return starters;
}

function checkOwner({ name, isCatalogued }: Policy, context: ChangeContext): void {
  if (isCatalogued && !context.isCatalogued)
    throw new PolicyError(`'${name}' is of the catalogue of limits: it is changed and dropped there`);
  if (!isCatalogued && context.isCatalogued)
    throw new PolicyError(`there is a quota '${name}' that is not of the catalogue: QUOTA.DROP it first`);
}

/** Tokens that an unknown region should start with could never be spent. */
function checkRegions(definition: Definition, { knownRegions }: ChangeContext): void {
  if (knownRegions === undefined) return;
  const known = [...knownRegions].sort().join(', ');
  for (const region of startingRegions(definition))
    if (!knownRegions.has(region))
      throw new PolicyError(`region '${region}' of '${definition.name}' is not known: the regions are ${known}`);
}

/** Whether tokens of a dropped policy may be from a window that is not over by every clock. */
function isOpen(policy: DroppedPolicy, { nowMs, skewBoundMs }: ChangeContext): boolean {
  const lastMs = policy.droppedMs + skewBoundMs + reachMs(policy, skewBoundMs);
  return windowEndMs(policy, windowAt(policy, lastMs)) + skewBoundMs > nowMs;
}
