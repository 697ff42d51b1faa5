import { SLOT_COUNT, slotOfKey } from '@quotadb/cluster';
import { type Engine, RESERVED_PREFIX } from '@quotadb/engine';
import { subjectOfIdentifier } from '@quotadb/limits';
import { subjectOfAllotment } from '@quotadb/quota';
import { identifierOf, isReservedName } from '@quotadb/rate';

/** Keys between two turns of the event loop. */
const SLICE_KEYS = 10_000;

/** In no slot: keys that the server itself has named. */
export const NO_SLOT = -1;

/** The slot of a key as the store has it: see slotOfIdentifier; of an allotment, that of its subject. */
export function slotOfStored(key: Uint8Array): number {
  if (!isQuotaKey(key)) return slotOfIdentifier(identifierOf(key));
  const subject = subjectOfAllotment(key);
  return subject === undefined ? NO_SLOT : slotOfKey(subject, 0, subject.length);
}

/** Of a client's key, that of its name; of a limit, that of the subject that it counts for. */
export function slotOfIdentifier(identifier: Uint8Array): number {
  const isOfClient = !isReservedName(identifier, 0, identifier.length);
  const name = isOfClient ? identifier : subjectOfIdentifier(identifier);
  return name === undefined ? NO_SLOT : slotOfKey(name, 0, name.length);
}

function isQuotaKey(key: Uint8Array): boolean {
  return RESERVED_PREFIX.every((byte, at) => key[at] === byte);
}

/**
 * Visits every key of the store that is in a slot, with turns of the event loop in between; `keysOnly`: no allotments.
 */
export async function visitSlots(
  engine: Engine,
  visit: (key: Uint8Array, slot: number) => void,
  keysOnly = false,
  turn = nextTurn,
): Promise<void> {
  const one = (key: Uint8Array): void => {
    const slot = slotOfStored(key);
    if (slot !== NO_SLOT) visit(key, slot);
  };
  await walk((cursor) => engine.scan(cursor, SLICE_KEYS, one), turn);
  if (!keysOnly) await walk((cursor) => engine.scanReserved(cursor, SLICE_KEYS, one), turn);
}

/** How many keys, cells and, unless `keysOnly`, allotments this node holds, by slot. */
export async function countBySlot(engine: Engine, keysOnly = false, turn = nextTurn): Promise<Uint32Array> {
  const counts = new Uint32Array(SLOT_COUNT);
  const count = (_: Uint8Array, slot: number): void => {
    counts[slot]++;
  };
  await visitSlots(engine, count, keysOnly, turn);
  return counts;
}

async function walk(page: (cursor: bigint) => bigint, turn: () => Promise<void>): Promise<void> {
  for (let cursor = page(0n); cursor !== 0n; cursor = page(cursor)) await turn();
}

/** Of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
