import { createHash } from 'node:crypto';
import type { PartialDefinition } from './definition-words.js';
import { isLeased, type Policy } from './policy.js';
import { isWhole, MAXIMUM_VERSION_AHEAD_MS, PolicyError, type PolicySet } from './policy-set.js';
import { FIRST_STAMP, MAXIMUM_STAMPS, type Stamp } from './stamps.js';

/**
 * Policies of a cluster of groups. Every group has a home and a set of its own; what clients define is in all of them.
 * Each policy, and the catalogue as a whole, has the stamp of its last change, and of two states the one with the
 * higher stamp holds. Merging can be done twice, late and in any order, so groups that were apart come to the same
 * policies.
 */

/** A policy that is defined or was dropped, as groups send it to each other. */
export interface SharedPolicy {
  readonly name: string;
  readonly stamp: number;
  /** Null where it was dropped. Without an allocator it is the home of each group. */
  readonly definition: PartialDefinition | null;
}

export interface SharedSet {
  readonly policies: readonly SharedPolicy[];
  readonly catalogue?: { readonly stamp: number; readonly document: unknown } | undefined;
}

/** The shared part of a set, in the order of names. `written` gives a catalogue as its author wrote it. */
export function sharedOf(set: PolicySet | undefined, written: (catalogue: unknown) => unknown): SharedSet {
  const byName = new Map(set?.policies.map((policy) => [policy.name, policy]));
  const policies = (set?.stamps ?? []).flatMap((stamp): SharedPolicy[] => {
    const { name, isDropped } = stamp;
    if (isDropped) return [{ name, stamp: stamp.stamp, definition: null }];
    const policy = byName.get(name);
    if (policy === undefined || policy.isCatalogued) return [];
    return [{ name, stamp: stamp.stamp, definition: definitionOf(policy, stamp) }];
  });
  policies.sort((one, other) => (one.name < other.name ? -1 : 1));
  if (set?.catalogueStamp === undefined) return { policies };
  return { policies, catalogue: { stamp: set.catalogueStamp, document: written(set.catalogue) ?? null } };
}

/** In one order of fields, so that equal definitions are equal texts. */
function definitionOf(policy: Policy, { namesAllocator }: Stamp): PartialDefinition {
  const { name, limit, windowMs, calendar, leaseMs, allocator, shares, waitMs, admitFraction } = policy;
  return {
    name,
    limit,
    windowMs: isLeased(policy) ? 0 : windowMs,
    ...(calendar && { calendar }),
    ...(leaseMs && { leaseMs }),
    allocator: namesAllocator ? allocator : undefined,
    shares,
    waitMs,
    ...(admitFraction && { admitFraction }),
  };
}

/** Two groups with the same digest have the same policies. */
export function digestOfShared(shared: SharedSet): string {
  return createHash('sha256').update(JSON.stringify(shared)).digest('hex');
}

/** The part of a shared set that is newer than another one. */
export function newerOf(shared: SharedSet, than: SharedSet): SharedSet {
  const others = new Map(than.policies.map((policy) => [policy.name, policy]));
  const policies = shared.policies.filter((policy) => isNewer(policy, others.get(policy.name)));
  const { catalogue } = shared;
  return { policies, ...(catalogue && isNewer(catalogue, than.catalogue) && { catalogue }) };
}

export function isEmptyShared({ policies, catalogue }: SharedSet): boolean {
  return policies.length === 0 && catalogue === undefined;
}

/** Of two changes in the same millisecond, in two groups, the one whose text is greater. */
function isNewer(one: { readonly stamp: number }, other: { readonly stamp: number } | undefined): boolean {
  if (other === undefined || one.stamp !== other.stamp) return one.stamp > (other?.stamp ?? 0);
  return JSON.stringify(one) > JSON.stringify(other);
}

/** Checks what another group has sent; throws a PolicyError. Definitions are checked where they are made. */
export function checkShared(given: unknown, nowMs: number): SharedSet {
  const shared = given as SharedSet;
  const isStamp = (stamp: number) => isWhole(stamp, FIRST_STAMP, Math.floor(nowMs) + MAXIMUM_VERSION_AHEAD_MS);
  const isPolicy = (policy: SharedPolicy) =>
    typeof policy === 'object' &&
    policy !== null &&
    typeof policy.name === 'string' &&
    isStamp(policy.stamp) &&
    typeof policy.definition === 'object' &&
    (policy.definition === null || policy.definition.name === policy.name);
  const isShared =
    typeof shared === 'object' &&
    shared !== null &&
    Array.isArray(shared.policies) &&
    shared.policies.length <= MAXIMUM_STAMPS &&
    shared.policies.every(isPolicy) &&
    (shared.catalogue === undefined || isStamp(shared.catalogue?.stamp));
  if (!isShared) throw new PolicyError('these are no policies of a group, or its clock is more than a day ahead');
  return shared;
}

/** Higher than every stamp of the set, and no lower than the time. */
export function nextStamp(set: PolicySet | undefined, nowMs: number): number {
  const stamps = (set?.stamps ?? []).map(({ stamp }) => stamp);
  return Math.max(Math.floor(nowMs), (set?.catalogueStamp ?? 0) + 1, ...stamps.map((stamp) => stamp + 1));
}
