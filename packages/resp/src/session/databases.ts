import { ByteInput, DATABASE_PREFIX_BYTES, databaseOf, databasePrefix } from '@quotadb/engine';
import { identifierOf, isReservedName } from '@quotadb/rate';
import type { Request } from '@quotadb/wire';
import type { CommandEntry } from './command-index.js';
import { lastKeyOf } from './key-positions.js';

/**
 * Databases other than 0. A key of one is kept under a reserved prefix (engine, reserved.ts), which is put in front of
 * the keys of a request in this one place: commands, permissions and logs know only the names that clients write. HTTP,
 * replication and files have the whole names.
 */

/** A larger request gets a buffer of its own. */
const KEPT_BYTES = 64 * 1024;
const INITIAL_ARGUMENTS = 16;

/** A request whose keys have the prefix of a database. One per lane: valid until the next request is mapped. */
export class DatabaseRequest implements Request {
  input = new ByteInput(new Uint8Array(KEPT_BYTES + ByteInput.SLACK_BYTES));
  argumentCount = 0;
  argumentStart = new Int32Array(INITIAL_ARGUMENTS);
  argumentLength = new Int32Array(INITIAL_ARGUMENTS);

  map(request: Request, entry: CommandEntry, database: number): Request {
    const { argumentCount: count, argumentStart, argumentLength, input } = request;
    const prefix = databasePrefix(database);
    this.reserve(request, prefix.length);
    const { bytes } = this.input;
    const lastKey = lastKeyOf(entry, request);
    let nextKey = entry.firstKey;
    let end = 0;
    for (let index = 0; index < count; index++) {
      this.argumentStart[index] = end;
      if (index === nextKey && index <= lastKey) {
        bytes.set(prefix, end);
        end += prefix.length;
        nextKey += entry.keyStep;
      }
      const start = argumentStart[index];
      bytes.set(input.bytes.subarray(start, start + argumentLength[index]), end);
      end += argumentLength[index];
      this.argumentLength[index] = end - this.argumentStart[index];
    }
    this.argumentCount = count;
    return this;
  }

  private reserve({ argumentCount, argumentLength }: Request, prefixBytes: number): void {
    if (argumentCount > this.argumentStart.length) {
      this.argumentStart = new Int32Array(argumentCount);
      this.argumentLength = new Int32Array(argumentCount);
    }
    let size = ByteInput.SLACK_BYTES;
    for (let index = 0; index < argumentCount; index++) size += argumentLength[index] + prefixBytes;
    const { length } = this.input.bytes;
    const kept = KEPT_BYTES + ByteInput.SLACK_BYTES;
    if (size > length || (length > kept && size <= kept))
      this.input = new ByteInput(new Uint8Array(Math.max(size, kept)));
  }
}

/** Puts the prefix of a database in front of a name. */
export function keyIn(database: number, name: Uint8Array): Uint8Array {
  const prefix = databasePrefix(database);
  const key = new Uint8Array(prefix.length + name.length);
  key.set(prefix);
  key.set(name, prefix.length);
  return key;
}

/** The name, as clients write it, of a key in the store; undefined where a client of this database does not see it. */
export function nameIn(database: number, key: Uint8Array): Uint8Array | undefined {
  if (database === 0) return isReservedName(key, 0, key.length) ? undefined : key;
  return databaseOf(key, 0, key.length) === database ? key.subarray(DATABASE_PREFIX_BYTES) : undefined;
}

/** Whether a key in the store is of this database: one of its keys, or a cell of one of its identifiers. */
export function belongsTo(database: number, key: Uint8Array): boolean {
  const name = identifierOf(key);
  return databaseOf(name, 0, name.length) === database;
}
