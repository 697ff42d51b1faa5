import { findCalendarFault, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { MAXIMUM_SERVER_NAME_CHARACTERS } from '@quotadb/wire';
import { MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import { areDivisions, type Division, dateDivisionsAnew } from './divisions.js';
import {
  calendarWindowMs,
  type Definition,
  type Extra,
  type Inheritance,
  MAXIMUM_LEASE_MS,
  MAXIMUM_LIMIT,
  MAXIMUM_WAIT_MS,
  MAXIMUM_WINDOW_MS,
  type Override,
  type Policy,
  type Starter,
} from './policy.js';
import { areStamps, type Stamp } from './stamps.js';

/** All policies as the home has them; every change makes a higher version. */
export interface PolicySet {
  readonly home: string;
  readonly version: number;
  readonly lastNumber: number;
  readonly policies: readonly Policy[];
  /** Policies whose last window may not be over: one that is defined again as it was goes on where it was. */
  readonly dropped?: readonly DroppedPolicy[] | undefined;
  /** How the tokens of regions with members are divided. Absent where no region has any. */
  readonly divisions?: readonly Division[] | undefined;
  /** The document that some of the policies are made from, which the book's reader of catalogues checks. */
  readonly catalogue?: unknown;
  /** In a cluster of groups: when policies, and the catalogue, were last changed by a client of any of them. */
  readonly stamps?: readonly Stamp[] | undefined;
  readonly catalogueStamp?: number | undefined;
}

export interface DroppedPolicy extends Policy {
  readonly droppedMs: number;
}

export const MAXIMUM_POLICIES = 1000;
/** Of one policy. */
const MAXIMUM_OVERRIDES = 10_000;
export const MAXIMUM_EXTRAS = 10_000;
/** Of a catalogue, and of a whole set, in JSON: a set is sent in one frame of at most 4 MiB. */
export const MAXIMUM_CATALOGUE_BYTES = 1024 * 1024;
const MAXIMUM_SET_BYTES = 3 * 1024 * 1024;
/** Of one policy: the incarnations that are lost, and those that one of them may have granted tokens to. */
export const MAXIMUM_INHERITANCES = 64;
/**
 * Versions follow the clock of the home, so one that is further ahead of the own clock than this is no version that a
 * home can have made, or its clock is wrong. It is not taken over: nothing could ever follow it.
 */
export const MAXIMUM_VERSION_AHEAD_MS = 24 * 3600 * 1000;
const MAXIMUM_NAME_BYTES = 128;
const MAXIMUM_SHARES = 64;
/** As --shards has it. */
const MAXIMUM_SHARDS = 4096;

export class PolicyError extends Error {}

/** Throws a PolicyError where a definition is invalid. */
export function checkDefinition(definition: Definition): void {
  const { name, limit, windowMs, leaseMs = 0, shares, waitMs, allocator, admitFraction = 0 } = definition;
  if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > MAXIMUM_NAME_BYTES)
    throw new PolicyError(`a policy's name has 1 to ${MAXIMUM_NAME_BYTES} bytes`);
  if (!isWhole(limit, 0, MAXIMUM_LIMIT))
    throw new PolicyError(`a limit is a whole number from 0 to ${MAXIMUM_LIMIT}, not ${limit}`);
  if (!isWhole(windowMs, 0, MAXIMUM_WINDOW_MS))
    throw new PolicyError(`a window has 1 to ${MAXIMUM_WINDOW_MS} milliseconds, or there is NONE`);
  if (!isWhole(leaseMs, 0, MAXIMUM_LEASE_MS))
    throw new PolicyError(`a lease holds for 1 to ${MAXIMUM_LEASE_MS} milliseconds`);
  if (!isWhole(waitMs, 0, MAXIMUM_WAIT_MS))
    throw new PolicyError(`a caller waits 0 to ${MAXIMUM_WAIT_MS} milliseconds`);
  if (!isRegion(allocator)) throw new PolicyError('a policy has an allocator: the name of a region');
  if (!Array.isArray(shares) || shares.length > MAXIMUM_SHARES)
    throw new PolicyError(`at most ${MAXIMUM_SHARES} regions have a share`);
  const sum = shares.reduce((total, share) => total + share.fraction, 0);
  if (shares.some(({ region, fraction }) => !isRegion(region) || !(fraction > 0 && fraction <= 1)) || !(sum <= 1))
    throw new PolicyError('shares are fractions above 0 that come to at most 1');
  if (new Set(shares.map((share) => share.region)).size !== shares.length)
    throw new PolicyError('a region has one share');
  if (!(admitFraction >= 0 && admitFraction <= 1))
    throw new PolicyError(`a region admits a part of the limit above 0 and at most 1 alone, not ${admitFraction}`);
  if (admitFraction > 0 && windowMs === 0)
    throw new PolicyError('only of a quota with a WINDOW can a region admit a part alone');
  checkCalendar(definition);
  checkOverrides(definition);
}

function checkCalendar({ windowMs, leaseMs = 0, calendar }: Definition): void {
  if (calendar === undefined) return;
  const fault = findCalendarFault(calendar);
  if (fault !== undefined) throw new PolicyError(fault);
  if (leaseMs > 0) throw new PolicyError('a quota of leases has no windows of the calendar');
  if (windowMs !== calendarWindowMs(calendar))
    throw new PolicyError(`a window of a ${calendar.unit} has ${calendarWindowMs(calendar)} milliseconds`);
}

function checkOverrides({ overrides, windowMs, leaseMs = 0 }: Definition): void {
  if (overrides === undefined) return;
  if (!Array.isArray(overrides) || overrides.length > MAXIMUM_OVERRIDES)
    throw new PolicyError(`a quota has at most ${MAXIMUM_OVERRIDES} overrides`);
  for (const { subject, limit, fromMs } of overrides as readonly Override[]) {
    if (typeof subject !== 'string' || subject === '' || Buffer.byteLength(subject) > MAXIMUM_SUBJECT_BYTES)
      throw new PolicyError(`the subject of an override has 1 to ${MAXIMUM_SUBJECT_BYTES} bytes`);
    if (!isWhole(limit, 0, MAXIMUM_LIMIT))
      throw new PolicyError(`the limit of the override for '${subject}' is a whole number from 0 to ${MAXIMUM_LIMIT}`);
    if (fromMs !== undefined && !Number.isSafeInteger(fromMs))
      throw new PolicyError(`the override for '${subject}' begins at a time in whole milliseconds, not ${fromMs}`);
    if (fromMs !== undefined && windowMs === 0 && leaseMs === 0)
      throw new PolicyError(`the override for '${subject}' cannot begin later: the quota has no windows`);
  }
  const once = new Set(overrides.map(({ subject, fromMs }) => `${fromMs ?? ''} ${subject}`));
  if (once.size !== overrides.length) throw new PolicyError('an override is there twice');
}

/** Throws a PolicyError where a set, or its catalogue, is larger than can be sent. */
function checkSize(set: PolicySet): void {
  if (set.catalogue !== undefined && jsonBytes(set.catalogue) > MAXIMUM_CATALOGUE_BYTES)
    throw new PolicyError(`a catalogue of limits has at most ${MAXIMUM_CATALOGUE_BYTES} bytes as JSON`);
  if (jsonBytes(set) > MAXIMUM_SET_BYTES)
    throw new PolicyError(`all quotas with their overrides have at most ${MAXIMUM_SET_BYTES} bytes as JSON`);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** Checks a set from a peer or a file; throws a PolicyError where it is invalid. */
export function checkPolicySet(given: unknown): PolicySet {
  const set = given as PolicySet;
  const isSet =
    typeof set === 'object' &&
    set !== null &&
    isRegion(set.home) &&
    isWhole(set.version, 1, Number.MAX_SAFE_INTEGER) &&
    isWhole(set.lastNumber, 0, MAXIMUM_NUMBER) &&
    isList(set.policies) &&
    (set.dropped === undefined || isList(set.dropped)) &&
    (set.divisions === undefined || areDivisions(set.divisions)) &&
    areStamps(set.stamps, set.catalogueStamp);
  if (!isSet) throw new PolicyError('this is no set of policies');
  for (const policy of [...set.policies, ...(set.dropped ?? [])]) {
    checkDefinition(policy);
    const { startsFromMs } = policy;
    const isPolicy =
      (startsFromMs === undefined || Number.isFinite(startsFromMs)) &&
      (policy.isCatalogued === undefined || policy.isCatalogued === true) &&
      isWhole(policy.number, 1, set.lastNumber) &&
      Number.isFinite(policy.definedMs) &&
      areInheritances(policy.inheritances ?? []) &&
      areExtras(policy.extras ?? []) &&
      Array.isArray(policy.starters) &&
      policy.starters.length <= MAXIMUM_SHARES + 1 &&
      policy.starters.every(({ region, incarnation }: Starter) => isRegion(region) && isIncarnation(incarnation));
    if (!isPolicy) throw new PolicyError(`policy ${policy.name} is not whole`);
  }
  checkSize(set);
  checkOnce(set.policies);
  checkOnce(set.dropped ?? []);
  if (set.dropped?.some(({ droppedMs }) => !Number.isFinite(droppedMs)))
    throw new PolicyError('a dropped policy does not say when it was dropped');
  return set;
}

/** No incarnation is inherited from twice: its tokens would be there twice. */
function areInheritances(given: readonly Inheritance[]): boolean {
  if (!Array.isArray(given) || given.length > MAXIMUM_INHERITANCES) return false;
  const isOrigin = (origin: string) => /^[0-9a-f]{64}$/.test(origin);
  const isInheritance = ({ from, to, grantees, seen }: Inheritance) =>
    isOrigin(from) &&
    isOrigin(to) &&
    from !== to &&
    Array.isArray(grantees) &&
    grantees.length <= MAXIMUM_INHERITANCES &&
    grantees.every(isOrigin) &&
    Array.isArray(seen) &&
    seen.length <= MAXIMUM_SHARDS &&
    seen.every(Number.isFinite);
  return given.every(isInheritance) && new Set(given.map(({ from }) => from)).size === given.length;
}

function areExtras(given: readonly Extra[]): boolean {
  const isExtra = ({ subject, window, amount, operation, givenMs }: Extra) =>
    typeof subject === 'string' &&
    subject.length <= MAXIMUM_SUBJECT_BYTES &&
    Number.isSafeInteger(window) &&
    isWhole(amount, 0, MAXIMUM_LIMIT) &&
    Number.isFinite(givenMs) &&
    (operation === undefined || /^[0-9a-f]{64}$/.test(operation));
  return Array.isArray(given) && given.length <= MAXIMUM_EXTRAS && given.every(isExtra);
}

function isList(given: unknown): boolean {
  return Array.isArray(given) && given.length <= MAXIMUM_POLICIES;
}

function checkOnce(policies: readonly Policy[]): void {
  const numbers = new Set(policies.map(({ number }) => number));
  const names = new Set(policies.map(({ name }) => name));
  if (numbers.size !== policies.length || names.size !== policies.length)
    throw new PolicyError('a policy is there twice');
}

/** Numbers of policies are 32 bits of an allotment's key. */
export const MAXIMUM_NUMBER = 0xffff_ffff;

export function isWhole(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

export function isRegion(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MAXIMUM_SERVER_NAME_CHARACTERS;
}

/** In hexadecimal; tests have shorter names. */
function isIncarnation(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 2 * ORIGIN_ID_BYTES;
}

/** The state of a region that the home can reach now. */
export interface RegionState {
  readonly incarnation: string;
  readonly hasDisk: boolean;
}

export const WINDOWLESS = 'a quota without a window';

/** Throws a PolicyError: tokens of a limit without a window are lost for ever with the state of their region. */
export function mustLast(region: string, state: RegionState | undefined): void {
  if (state === undefined)
    throw new PolicyError(
      `${WINDOWLESS} begins where it starts: region ${region} must be connected to its home when it is defined`,
    );
  if (!state.hasDisk)
    throw new PolicyError(
      `${WINDOWLESS} needs a disk in region ${region} (--data): with its memory the tokens would be lost for ever`,
    );
}

/** A set without dates that are later than now. */
export function dateSetAnew(set: PolicySet, nowMs: number): PolicySet {
  const dateAnew = <Dated extends Policy>(policy: Dated): Dated => {
    const { definedMs, startsFromMs } = policy;
    const starts = startsFromMs !== undefined && { startsFromMs: Math.min(startsFromMs, nowMs) };
    return { ...policy, definedMs: Math.min(definedMs, nowMs), ...starts };
  };
  return {
    ...set,
    policies: set.policies.map(dateAnew),
    dropped: set.dropped?.map((policy) => ({ ...dateAnew(policy), droppedMs: Math.min(policy.droppedMs, nowMs) })),
    ...(set.divisions && { divisions: dateDivisionsAnew(set.divisions, nowMs) }),
  };
}
