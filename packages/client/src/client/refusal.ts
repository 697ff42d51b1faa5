import { ReplyError } from '../contract/errors.js';
import type { Encoded } from '../resp/encode.js';

/** A name that is longer is no command's, and could be anything. */
const LONGEST_NAME = 64;

/**
 * Fails with the server's error reply, the name of the command, and a stack that leads to the caller.
 *
 * Engines find the callers of an error that is made in an async function by following those who await its promise. The
 * caller awaits the command's promise, which is resolved with this one; so the error is made two turns later, when the
 * one promise waits for the other. A command that succeeds pays nothing for it: neither a stack nor a name is kept.
 */
export async function refuse(message: string, encoded: Encoded): Promise<never> {
  await undefined;
  await undefined;
  throw new ReplyError(message, commandName(encoded));
}

/** The first word of an encoded command: `*2 CR LF $4 CR LF INCR CR LF …`. */
function commandName(encoded: Encoded): string | undefined {
  const [first = '', second] = typeof encoded === 'string' ? [encoded] : encoded;
  const name = String(first).split('\r\n', 3)[2];
  // The name was given as bytes.
  if (name === '' && typeof second === 'object') return new TextDecoder().decode(second.subarray(0, LONGEST_NAME));
  return name?.slice(0, LONGEST_NAME);
}
