import { MAXIMUM_SUBJECT_BYTES } from './allotment.js';
import type { Policy } from './policy.js';

export const SUBJECT_TOO_LONG = `a subject has at most ${MAXIMUM_SUBJECT_BYTES} bytes`;
export const COST_TOO_SMALL = 'a cost is a whole number of at least 1';

export function noSuchPolicy(name: string): string {
  return `there is no quota '${name}'`;
}

export function onlyLeases({ name }: Policy): string {
  return `'${name}' limits leases held at once: QUOTA.ACQUIRE takes from it`;
}

export function noLeases({ name }: Policy): string {
  return `'${name}' limits use, not leases held at once: leases need a quota that is defined with LEASE`;
}
