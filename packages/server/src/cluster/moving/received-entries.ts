import { type Marks, slotOfKey } from '@quotadb/cluster';
import { addExpiring, ByteInput, type Engine, joinInt64, Status, splitInt64 } from '@quotadb/engine';
import { BUCKET_HEADER_BYTES, CELL_HEADER_BYTES, CellKind, cellKindOf } from '@quotadb/rate';
import { NO_SLOT, slotOfIdentifier, slotOfStored } from '../stored/occupied-slots.js';
import { EntryKind, readEntries, type SlotEntry } from './slot-entries.js';

/** What the quotas of a server do for slots that move. */
export interface MovingQuotas {
  /** The policy and window of an allotment's key and the tokens used; undefined where there is nothing to move. */
  describe(key: Uint8Array): Omit<SlotEntry, 'kind'> | undefined;
  /** The same in a group that receives it. Throws where there is no such policy, or it has other windows. */
  adopt(entry: SlotEntry): void;
  /** The subjects that reservations and leases of this server are open for. */
  openSubjects(): Iterable<Uint8Array>;
  /** Unspent tokens of these subjects count as not used again. */
  returnUnspent(isMeant: (subject: Uint8Array) => boolean): void;
  /** Of the newest set of policies that this server knows. */
  policiesVersion(): number;
}

const INCARNATION_AT = 16;

/**
 * Counts what another group sends as this server's own. Throws at the first entry that is not meant or does not fit.
 */
export function countEntries(
  engine: Engine,
  quotas: MovingQuotas,
  message: Uint8Array,
  isMeant: (slot: number) => boolean,
  members: readonly Marks[],
): void {
  const entries = readEntries(message);
  for (const entry of entries) {
    const slot = slotOf(entry);
    if (slot === NO_SLOT || !isMeant(slot)) throw new Error(`the slot ${slot} does not move to this server now`);
  }
  for (const entry of entries) {
    if (entry.kind === EntryKind.key) addKey(engine, entry);
    else if (entry.kind === EntryKind.bucket) for (const { origin } of members) raiseBucket(engine, entry, origin);
    else quotas.adopt(entry);
  }
}

function slotOf({ kind, name }: SlotEntry): number {
  if (kind === EntryKind.allotment) {
    const subject = name.subarray(1 + name[0]);
    return slotOfKey(subject, 0, subject.length);
  }
  if (kind === EntryKind.bucket) {
    const isBucket = name.length > CELL_HEADER_BYTES && cellKindOf(name) === CellKind.bucket;
    return isBucket ? slotOfIdentifier(name.subarray(CELL_HEADER_BYTES)) : NO_SLOT;
  }
  return cellKindOf(name) === CellKind.bucket ? NO_SLOT : slotOfStored(name);
}

function addKey(engine: Engine, { name, value, at }: SlotEntry): void {
  if (at !== 0 && at <= engine.nowMs) return;
  const [high, low] = splitInt64(value);
  engine.open(ByteInput.copyOf(name), 0, name.length);
  const status = at === 0 ? engine.add(high, low) : addExpiring(engine, high, low, at);
  engine.close();
  if (status !== Status.Ok) throw new Error(`a key is refused: ${nameOf(status)}`);
}

/**
 * Every node has buckets of its own, so that of each member becomes at least as empty as any was. The value is a time,
 * which only grows: what this server adds to the bucket of another, that one reads as part of it.
 */
function raiseBucket(engine: Engine, { name, value, at }: SlotEntry, origin: string): void {
  const node = Buffer.from(origin, 'hex').subarray(
    INCARNATION_AT,
    INCARNATION_AT + BUCKET_HEADER_BYTES - CELL_HEADER_BYTES,
  );
  const key = Buffer.concat([name.subarray(0, CELL_HEADER_BYTES), node, name.subarray(CELL_HEADER_BYTES)]);
  if (at !== 0 && at <= engine.nowMs) return;
  engine.open(ByteInput.copyOf(key), 0, key.length);
  const missing = value - joinInt64(engine.valueHigh, engine.valueLow);
  const status =
    missing > 0n ? addExpiring(engine, ...splitInt64(missing), Math.max(at, engine.expiresAtMs)) : Status.Ok;
  engine.close();
  if (status !== Status.Ok) throw new Error(`a bucket is refused: ${nameOf(status)}`);
}

function nameOf(status: Status): string {
  return status === Status.OutOfMemory ? 'the memory is full' : `status ${status}`;
}
