import { Engine, Status } from '@quotadb/engine';

/**
 * Every error a client can get, in one place. The first word is the code that clients tell errors apart by. Where Redis
 * has the error the words are Redis's own, to the letter, because deployed code matches on them.
 */
export const errors = {
  syntax: 'ERR syntax error',
  notAnInteger: 'ERR value is not an integer or out of range',
  overflow: 'ERR increment or decrement would overflow',
  decrementOverflow: 'ERR decrement would overflow',
  noSuchKey: 'ERR no such key',
  wrongType: 'WRONGTYPE Operation against a key holding the wrong kind of value',
  outOfMemory: "OOM command not allowed when used memory > 'maxmemory'.",
  growOnly: 'ERR this key is in a grow-only namespace: it can only be incremented',
  keyTooLong: `ERR key is too long: at most ${Engine.MAX_KEY_BYTES} bytes`,
  invalidCursor: 'ERR invalid cursor',
  wrongArity: (command: string) => `ERR wrong number of arguments for '${command}' command`,
  invalidExpire: (command: string) => `ERR invalid expire time in '${command}' command`,
} as const;

/** The error reply for what the engine refused; not for Status.Ok. */
export function statusError(status: Status): string {
  switch (status) {
    case Status.Overflow:
      return errors.overflow;
    case Status.OutOfMemory:
      return errors.outOfMemory;
    case Status.GrowOnly:
      return errors.growOnly;
    case Status.KeyTooLong:
      return errors.keyTooLong;
    default:
      throw new Error(`no error reply for engine status ${status}`);
  }
}
