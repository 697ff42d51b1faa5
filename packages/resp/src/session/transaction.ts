import { ByteInput } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
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

  add(entry: CommandEntry, request: Request): void {
    const copy = copyRequest(request);
    this.commands.push({ entry, request: copy });
    if (entry.isCostly) this.costly++;
    this.bytes += copy.input.bytes.length + Transaction.COMMAND_OVERHEAD_BYTES;
  }
}

function copyRequest(request: Request): Request {
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
