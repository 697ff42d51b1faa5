import { decrease, increase, reset } from './external-operations.js';
import { get, getMany, initialize, remove, update } from './internal-operations.js';
import type { Audience, Operation } from './operation.js';

const all: readonly Operation[] = [increase, decrease, reset, initialize, getMany, get, update, remove];

export function operationsFor(audiences: readonly Audience[]): Operation[] {
  return all.filter((operation) => audiences.includes(operation.audience));
}
