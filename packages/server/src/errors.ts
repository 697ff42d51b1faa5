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
  expiryConditionsConflict: 'ERR NX and XX, GT or LT options at the same time are not compatible',
  expiryComparisonsConflict: 'ERR GT and LT options at the same time are not compatible',
  unsupportedOption: (option: string) => `ERR Unsupported option ${option}`,
  namedNotAnInteger: (name: string) => `ERR ${name} is not an integer or out of range`,
  boundsCrossed: "ERR LBOUND can't be greater than UBOUND",
  expiryMissingForEnx: 'ERR ENX flag requires an expiration',
  appliedOverflow: 'ERR applied increment would overflow',
  noFloats: 'ERR BYFLOAT is not supported: counters hold integers',
  frequencyNotTracked:
    'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.',
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
