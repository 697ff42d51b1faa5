import { general } from '@quotadb/lua';

/** Enough digits to read the same double back. */
const DIGITS = 17;

/** C's %.17g, as Redis prints numbers of scripts. 0/0 has its sign bit set on x86, and printf shows it. */
export function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  if (Number.isSafeInteger(value)) return String(value);
  if (Number.isNaN(value)) return '-nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return value < 0 ? `-${general(-value, DIGITS)}` : general(value, DIGITS);
}
