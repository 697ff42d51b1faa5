import { MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import type { Policy } from './policy.js';

export const SUBJECT_TOO_LONG = `a subject has at most ${MAXIMUM_SUBJECT_BYTES} bytes`;

/** A cost that was given, in words or as a number. */
export function costTooSmall(given: string | number): string {
  return `a cost is a whole number of at least 1, not ${given}`;
}

export function noSuchPolicy(name: string): string {
  return `there is no quota '${name}'`;
}

export function onlyLeases({ name }: Policy): string {
  return `'${name}' limits leases held at once: QUOTA.ACQUIRE takes from it`;
}

export function noLeases({ name }: Policy): string {
  return `'${name}' limits use, not leases held at once: leases need a quota that is defined with LEASE`;
}
