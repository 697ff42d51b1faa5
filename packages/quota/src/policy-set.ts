import { ORIGIN_ID_BYTES } from '@quotadb/engine';
import {
  type Definition,
  MAXIMUM_LEASE_MS,
  MAXIMUM_LIMIT,
  MAXIMUM_WAIT_MS,
  MAXIMUM_WINDOW_MS,
  type Policy,
  type Starter,
} from './policy.js';

/** All policies as the home has them; every change makes a higher version. */
export interface PolicySet {
  readonly home: string;
  readonly version: number;
  readonly lastNumber: number;
  readonly policies: readonly Policy[];
  /** Policies whose last window may not be over: one that is defined again as it was goes on where it was. */
  readonly dropped?: readonly DroppedPolicy[] | undefined;
}

export interface DroppedPolicy extends Policy {
  readonly droppedMs: number;
}

export const MAXIMUM_POLICIES = 1000;
/**
 * Versions follow the clock of the home, so one that is further ahead of the own clock than this is no version that a
 * home can have made, or its clock is wrong. It is not taken over: nothing could ever follow it.
 */
export const MAXIMUM_VERSION_AHEAD_MS = 24 * 3600 * 1000;
const MAXIMUM_NAME_BYTES = 128;
const MAXIMUM_SHARES = 64;
/** As --region has it. */
const MAXIMUM_REGION_CHARACTERS = 32;

export class PolicyError extends Error {}

/** Throws a PolicyError where a definition is invalid. */
export function checkDefinition({ name, limit, windowMs, leaseMs = 0, shares, waitMs, allocator }: Definition): void {
  if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > MAXIMUM_NAME_BYTES)
    throw new PolicyError(`a policy's name has 1 to ${MAXIMUM_NAME_BYTES} bytes`);
  if (!isWhole(limit, 0, MAXIMUM_LIMIT)) throw new PolicyError(`a limit is a whole number from 0 to ${MAXIMUM_LIMIT}`);
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
    (set.dropped === undefined || isList(set.dropped));
  if (!isSet) throw new PolicyError('this is no set of policies');
  for (const policy of [...set.policies, ...(set.dropped ?? [])]) {
    checkDefinition(policy);
    const { startsFromMs } = policy;
    const isPolicy =
      (startsFromMs === undefined || Number.isFinite(startsFromMs)) &&
      isWhole(policy.number, 1, set.lastNumber) &&
      Number.isFinite(policy.definedMs) &&
      Array.isArray(policy.starters) &&
      policy.starters.length <= MAXIMUM_SHARES + 1 &&
      policy.starters.every(({ region, incarnation }: Starter) => isRegion(region) && isIncarnation(incarnation));
    if (!isPolicy) throw new PolicyError(`policy ${policy.name} is not whole`);
  }
  checkOnce(set.policies);
  checkOnce(set.dropped ?? []);
  if (set.dropped?.some(({ droppedMs }) => !Number.isFinite(droppedMs)))
    throw new PolicyError('a dropped policy does not say when it was dropped');
  return set;
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
  return typeof value === 'string' && value !== '' && value.length <= MAXIMUM_REGION_CHARACTERS;
}

/** In hexadecimal; tests have shorter names. */
function isIncarnation(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 2 * ORIGIN_ID_BYTES;
}
