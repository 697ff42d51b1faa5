import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { textArgument } from '../request/arguments.js';

/** The error repeats at most this much of the name, and of the arguments together. */
const REPEATED_CHARACTERS = 128;

export function unknownCommand(request: Request): string {
  let beginning = '';
  for (let index = 1; index < request.argumentCount && beginning.length < REPEATED_CHARACTERS; index++) {
    beginning += `'${repeated(request, index, REPEATED_CHARACTERS - beginning.length)}' `;
  }
  return errors.unknownCommand(repeated(request, 0, REPEATED_CHARACTERS), beginning);
}

export function unknownSubcommand(request: Request): string {
  return errors.unknownSubcommand(repeated(request, 1, REPEATED_CHARACTERS), textArgument(request, 0));
}

/** Redis prints with C's %.128s, which ends at a zero byte. */
function repeated(request: Request, index: number, maximum: number): string {
  const text = textArgument(request, index);
  const zero = text.indexOf('\0');
  return text.slice(0, zero < 0 ? maximum : Math.min(zero, maximum));
}
