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
}

export const MAXIMUM_POLICIES = 1000;
const MAXIMUM_NAME_BYTES = 128;
const MAXIMUM_SHARES = 64;

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
    Array.isArray(set.policies) &&
    set.policies.length <= MAXIMUM_POLICIES;
  if (!isSet) throw new PolicyError('this is no set of policies');
  for (const policy of set.policies) {
    checkDefinition(policy);
    const isPolicy =
      isWhole(policy.number, 1, set.lastNumber) &&
      Number.isFinite(policy.definedMs) &&
      Array.isArray(policy.starters) &&
      policy.starters.every(({ region, incarnation }: Starter) => isRegion(region) && typeof incarnation === 'string');
    if (!isPolicy) throw new PolicyError(`policy ${policy.name} is not whole`);
  }
  const numbers = new Set(set.policies.map(({ number }) => number));
  const names = new Set(set.policies.map(({ name }) => name));
  if (numbers.size !== set.policies.length || names.size !== set.policies.length)
    throw new PolicyError('a policy is there twice');
  return set;
}

/** Numbers of policies are 32 bits of an allotment's key. */
export const MAXIMUM_NUMBER = 0xffff_ffff;

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

function isRegion(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
