import { raise, raisePlainly } from './raise.js';
import { running } from './running.js';

/** LUAI_MAXCCALLS of Lua 5.1, the script itself included. */
const NESTED_MAX = 200;
const TOO_DEEP = 'C stack overflow';

/**
 * Before a call that Lua 5.1 makes from C: of a metamethod, or of the iterator of a loop. After it, `running.nested`
 * goes down by one; an error that is caught restores it.
 */
export function nest(): void {
  if (++running.nested >= NESTED_MAX) raise(TOO_DEEP);
}

/** The same for a call by a library, whose errors have no position. */
export function nestFromLibrary(): void {
  if (++running.nested >= NESTED_MAX) raisePlainly(TOO_DEEP);
}
