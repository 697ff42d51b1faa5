import type { Request } from '@quotadb/wire';
import { errors } from '../../../errors/errors.js';
import type { CommandDirectory, CommandEntry } from '../../../session/command-index.js';
import { lastKeyOf } from '../../../session/key-positions.js';

/** The indexes of the keys of the command that begins at the argument `at`; or the error reply. */
export function keyIndexes(
  { index }: CommandDirectory,
  request: Request,
  at: number,
): { readonly indexes: number[]; readonly entry: CommandEntry } | string {
  const bytes = request.input.bytes;
  const count = request.argumentCount - at;
  let entry = index.find(bytes, request.argumentStart[at], request.argumentLength[at]);
  if (entry?.subcommands !== undefined && count > 1) {
    entry = entry.subcommands.find(bytes, request.argumentStart[at + 1], request.argumentLength[at + 1]);
  }
  if (entry === undefined) return errors.getkeysUnknown;
  const { firstKey, keyStep } = entry;
  if (firstKey === 0) return errors.getkeysNone;
  if (count < entry.minimumArguments || count > entry.maximumArguments) return errors.getkeysArity;
  const { input, argumentStart, argumentLength } = request;
  const named: Request = {
    input,
    argumentCount: count,
    argumentStart: argumentStart.subarray(at),
    argumentLength: argumentLength.subarray(at),
  };
  const end = lastKeyOf(entry, named);
  const indexes: number[] = [];
  for (let position = firstKey; position <= end; position += keyStep) indexes.push(at + position);
  return { indexes, entry };
}
