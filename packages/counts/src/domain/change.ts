import { CountError } from './count-error.js';
import { INT64_MAX, isInt64 } from './int64.js';

/** Increase and decrease add; reset and update assign. Nothing else ever happens to a count's value. */
export type Change =
  | { readonly kind: 'add'; readonly amount: bigint }
  | { readonly kind: 'assign'; readonly value: bigint };

/** The value after the change, or undefined when it does not fit into 64 bits (the change then has no effect). */
export function valueAfter(value: bigint, change: Change): bigint | undefined {
  if (change.kind === 'assign') return change.value;
  const sum = value + change.amount;
  return isInt64(sum) ? sum : undefined;
}

/** The direction is in the name of the operation, so the amount carries no sign. */
export function requireAmount(amount: bigint): bigint {
  if (amount < 0n || amount > INT64_MAX) throw new CountError('invalid_amount');
  return amount;
}

export function requireValue(value: bigint): bigint {
  if (!isInt64(value)) throw new CountError('invalid_value');
  return value;
}
