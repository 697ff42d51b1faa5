import { slotOfKey } from '@quotadb/cluster';
import type { Request } from '@quotadb/wire';
import type { CommandEntry } from './command-index.js';
import { lastKeyOf } from './key-positions.js';
import type { Transaction } from './transaction.js';

/** A request without keys. */
export const NO_SLOT = -1;
/** Its keys are in several slots. */
export const SEVERAL_SLOTS = -2;

/** The slot of a request, or one of the two above; allocates nothing. */
export function slotOfRequest(entry: CommandEntry, request: Request): number {
  const { argumentStart, argumentLength } = request;
  const { bytes } = request.input;
  const { firstKey, keyStep } = entry;
  const lastKey = lastKeyOf(entry, request);
  if (lastKey < firstKey) return NO_SLOT;
  const slot = slotOfKey(bytes, argumentStart[firstKey], argumentLength[firstKey]);
  for (let index = firstKey + keyStep; index <= lastKey; index += keyStep)
    if (slotOfKey(bytes, argumentStart[index], argumentLength[index]) !== slot) return SEVERAL_SLOTS;
  return slot;
}

/** Of all commands that were queued; as in Redis, a transaction has keys of one slot. */
export function slotOfTransaction(transaction: Transaction | undefined): number {
  let slot = NO_SLOT;
  for (const { entry, request } of transaction?.commands ?? []) {
    const other = entry.firstKey === 0 ? NO_SLOT : slotOfRequest(entry, request);
    if (other === NO_SLOT) continue;
    if (slot !== NO_SLOT && other !== slot) return SEVERAL_SLOTS;
    slot = other;
  }
  return slot;
}
