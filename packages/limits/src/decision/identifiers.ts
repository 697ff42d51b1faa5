import { ByteInput, RESERVED_PREFIX } from '@quotadb/engine';
import { MAXIMUM_SUBJECT_BYTES } from '@quotadb/quota';
import type { Item } from './decision.js';

/**
 * The identifier of a limit's cell (packages/rate/src/cell-key.ts), which no key of a client can be:
 *
 *   offset | bytes | content
 *   -------|-------|-------------------------------------------
 *   0      | 3     | 00 51 44
 *   3      | 1     | 'l'
 *   4      | n     | the name of the limit, which has no byte 00
 *   4 + n  | 1     | 00
 *   5 + n  | rest  | the subject
 *
 * And of a counter of a fixed window that has no limit of its own, because its limit comes with every request:
 *
 *   0      | 3     | 00 51 44
 *   3      | 1     | 'e'
 *   4      | rest  | the name of the counter
 */
const RESERVED_BYTES = 3;
const LIMIT = 0x6c;
/** What the identifier of a counter begins with. */
export const COUNTER_PREFIX = Uint8Array.of(...RESERVED_PREFIX.subarray(0, RESERVED_BYTES), 0x65);
export const MAXIMUM_NAME_BYTES = 128;
const HEADER_BYTES = RESERVED_BYTES + 2 + MAXIMUM_NAME_BYTES;
/** Beginnings of identifiers that are kept, by the name of the limit. */
const MAXIMUM_KEPT = 10_000;

const kept = new Map<string, Uint8Array>();

/** Room for one identifier. */
export class Identifier {
  readonly input = new ByteInput(new Uint8Array(HEADER_BYTES + MAXIMUM_SUBJECT_BYTES + ByteInput.SLACK_BYTES));
  length = 0;

  set({ name, subject }: Pick<Item, 'name' | 'subject'>): void {
    const beginning = beginningOf(name);
    this.input.bytes.set(beginning);
    this.input.bytes.set(subject, beginning.length);
    this.length = beginning.length + subject.length;
  }
}

/** The name of the limit and the subject; undefined where the identifier is not one of a limit. */
export function limitOfIdentifier(identifier: Uint8Array): { name: string; subject: Uint8Array } | undefined {
  const end = endOfName(identifier);
  if (end === -1) return undefined;
  const [name] = Buffer.from(identifier.subarray(RESERVED_BYTES + 1, end))
    .toString()
    .split('\x01');
  return { name, subject: identifier.subarray(end + 1) };
}

/** The subject of a limit, or the name of a counter: what the slot of a cell goes by. Undefined of any other key. */
export function subjectOfIdentifier(identifier: Uint8Array): Uint8Array | undefined {
  if (COUNTER_PREFIX.every((byte, index) => identifier[index] === byte))
    return identifier.subarray(COUNTER_PREFIX.length);
  const end = endOfName(identifier);
  return end === -1 ? undefined : identifier.subarray(end + 1);
}

/** Where the byte behind the name of the limit is; −1 where the identifier is not one of a limit. */
function endOfName(identifier: Uint8Array): number {
  const isReserved = RESERVED_PREFIX.subarray(0, RESERVED_BYTES).every((byte, index) => identifier[index] === byte);
  return isReserved && identifier[RESERVED_BYTES] === LIMIT ? identifier.indexOf(0, RESERVED_BYTES + 1) : -1;
}

function beginningOf(name: string): Uint8Array {
  const found = kept.get(name);
  if (found !== undefined) return found;
  const made = Uint8Array.of(...RESERVED_PREFIX.subarray(0, RESERVED_BYTES), LIMIT, ...Buffer.from(name), 0);
  if (kept.size >= MAXIMUM_KEPT) kept.clear();
  kept.set(name, made);
  return made;
}
