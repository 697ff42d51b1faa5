import { Need } from '@quotadb/config';
import { ByteInput } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import type { CommandEntry } from './command-index.js';

export interface QueuedCommand {
  readonly entry: CommandEntry;
  readonly request: Request;
}

/** The commands between MULTI and EXEC. The input buffer is reused before EXEC, so each command is copied. */
export class Transaction {
  /** Roughly the memory of one queued command beside its arguments. */
  static readonly COMMAND_OVERHEAD_BYTES = 256;

  /** Commands whose work and reply do not depend on their arguments alone: EXEC keeps all other clients waiting. */
  static readonly MAXIMUM_COSTLY = 64;

  readonly commands: QueuedCommand[] = [];
  bytes = 0;
  costly = 0;
  /** A command was refused while queueing: EXEC will discard everything. */
  broken = false;

  get hasWrites(): boolean {
    return this.commands.some(({ entry }) => (entry.needs & Need.noWritePause) !== 0);
  }

  /** Queues a command; returns why it is refused. */
  add(entry: CommandEntry, request: Request): string | undefined {
    if (!entry.allowedInTransaction) return errors.notInTransaction;
    // EXEC will discard the transaction, so its further commands need no memory.
    if (this.broken) return undefined;
    if (entry.isCostly && this.costly === Transaction.MAXIMUM_COSTLY)
      return errors.tooManyCostly(Transaction.MAXIMUM_COSTLY);
    const copy = copyRequest(request);
    this.commands.push({ entry, request: copy });
    if (entry.isCostly) this.costly++;
    this.bytes += copy.input.bytes.length + Transaction.COMMAND_OVERHEAD_BYTES;
    return undefined;
  }
}

/** A request of these words. */
export function requestOf(words: readonly Uint8Array[]): Request {
  const bytes = Buffer.concat([...words, new Uint8Array(ByteInput.SLACK_BYTES)]);
  const argumentLength = Int32Array.from(words, ({ length }) => length);
  const argumentStart = new Int32Array(words.length);
  for (let index = 1; index < words.length; index++)
    argumentStart[index] = argumentStart[index - 1] + argumentLength[index - 1];
  return { input: new ByteInput(bytes), argumentCount: words.length, argumentStart, argumentLength };
}

/** Copies a request that must outlive its turn. */
export function copyRequest(request: Request): Request {
  const count = request.argumentCount;
  const argumentLength = request.argumentLength.slice(0, count);
  const argumentStart = new Int32Array(count);
  const total = argumentLength.reduce((sum, length) => sum + length, 0);
  const bytes = new Uint8Array(total + ByteInput.SLACK_BYTES);
  let position = 0;
  for (let index = 0; index < count; index++) {
    const start = request.argumentStart[index];
    bytes.set(request.input.bytes.subarray(start, start + argumentLength[index]), position);
    argumentStart[index] = position;
    position += argumentLength[index];
  }
  return { input: new ByteInput(bytes), argumentCount: count, argumentStart, argumentLength };
}
