import { Engine, Status } from '@quotadb/engine';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';

/** Patterns that people write have a few dozen bytes. At this length a match takes 33 steps per byte of the text. */
export const MAXIMUM_PATTERN_BYTES = 1024;

/**
 * Every error reply, in one place. The first word is the code that clients match on. Where Redis has the same error,
 * the text is Redis's own, to the letter, because deployed code matches on it.
 */
export const errors = {
  syntax: 'ERR syntax error',
  notAnInteger: 'ERR value is not an integer or out of range',
  overflow: 'ERR increment or decrement would overflow',
  decrementOverflow: 'ERR decrement would overflow',
  noSuchKey: 'ERR no such key',
  outOfMemory: "OOM command not allowed when used memory > 'maxmemory'.",
  growOnly: 'ERR this key is in a grow-only namespace: it can only be incremented',
  keyTooLong: `ERR key is too long: at most ${Engine.MAX_KEY_BYTES} bytes`,
  invalidCursor: 'ERR invalid cursor',
  patternTooLong: (bytes: number) =>
    `ERR the pattern is too long: ${bytes} bytes, at most ${MAXIMUM_PATTERN_BYTES} are matched`,
  tooManyKeys: (maximumBytes: number) =>
    `ERR the keys that match take more than ${maximumBytes} bytes: use SCAN, or a pattern that matches fewer`,
  tooManyNames: (maximum: number) => `ERR too many names, at most ${maximum} at once`,
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
    'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching ' +
    'between policies at runtime LRU and LFU data will take some time to adjust.',
  // Windows and rate limits.
  reservedKey: 'ERR keys that begin with the bytes 00 51 44 are reserved for cells of windows and limits',
  cellKeyTooLong: `ERR key is too long: at most ${MAX_CELL_KEY_BYTES} bytes in windows and limits`,
  windowLength: `ERR window is out of range, must be from 1 to ${MAX_WINDOW_MS} milliseconds`,
  windowStart: `ERR window start is out of range, must be from 0 to ${MAX_START_MS} milliseconds`,
  windowOver: 'ERR the window is over',
  amountNegative: 'ERR amount must not be negative',
  limitOutOfRange: `ERR limit is out of range, must not be negative and at most ${Number.MAX_SAFE_INTEGER}`,
  costOutOfRange: `ERR cost is out of range, must not be negative and at most ${Number.MAX_SAFE_INTEGER}`,
  publishOutOfRange: 'ERR PUBLISH is out of range, must be from 0 to 100 percent',
  tooManyLimits: (maximum: number) => `ERR too many limits, at most ${maximum} at once`,
  rateTooFine: 'ERR burst, count and period are too large to be worked with exactly',

  // Dispatch.
  internal: 'ERR internal error',
  authenticationRequired: 'NOAUTH Authentication required.',
  unknownCommand: (name: string, beginning: string) =>
    `ERR unknown command '${name}', with args beginning with: ${beginning}`,
  unknownSubcommand: (name: string, parent: string) =>
    `ERR unknown subcommand '${name}'. Try ${parent.toUpperCase()} HELP.`,
  maximumClients: 'ERR max number of clients reached',

  // The disk.
  diskFailed:
    'MISCONF Errors writing to disk: a change that cannot be made durable is not acknowledged (--fsync always). See ' +
    'INFO persistence and the log.',
  noDataDirectory: 'ERR there is no data directory: everything is in memory. Start with --data',
  saveInProgress: 'ERR Background save already in progress',
  rewriteInProgress: 'ERR Background append only file rewriting already in progress',
  saveFailed: (reason: string) => `ERR the snapshot failed: ${reason}`,
  backupFailed: (reason: string) => `ERR the backup failed: ${reason}`,

  // Replication.
  stale: (region: string, ageMs: number | undefined, maximumAgeMs: number) => {
    const age = ageMs === undefined ? 'never wholly known here' : `last wholly known ${Math.round(ageMs)} ms ago`;
    return `STALE region ${region} was ${age}; the read asks for at most ${maximumAgeMs} ms`;
  },
  maximumAge: 'ERR max-age-ms is not an integer or out of range',
  replication: (reason: string) => `ERR ${reason}`,
  replicationLate: (afterMs: number) =>
    `ERR the main thread has not answered this request to replication after ${afterMs} ms: see REPL.PEERS LIST`,

  // Quotas.
  quota: (reason: string) => `ERR ${reason}`,
  quotaInTransaction: 'ERR this command asks another thread and cannot run inside MULTI',
  quotaStopping: 'ERR the server is stopping: try again at another address',

  // MULTI and EXEC.
  notInTransaction: 'ERR Command not allowed inside a transaction',
  tooManyCostly: (maximum: number) =>
    `ERR too many commands like INFO, SCAN and COMMAND in one transaction, at most ${maximum}: their work does not ` +
    'depend on their arguments alone',
  nestedTransaction: 'ERR MULTI calls can not be nested',
  noTransaction: (command: string) => `ERR ${command} without MULTI`,
  transactionBroken: 'EXECABORT Transaction discarded because of previous errors.',
  transactionAborted: (reason: string) => `EXECABORT Transaction discarded because of: ${reason.replace(/^ERR /, '')}`,
  watchInTransaction: 'ERR WATCH inside MULTI is not allowed',
  noWatch: 'ERR WATCH is not supported: EXEC runs its commands with no other client in between, without conditions',

  // Connections.
  wrongPassword: 'WRONGPASS invalid username-password pair or user is disabled.',
  noPasswordSet:
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your ' +
    'configuration is correct?',
  loginBusy:
    'ERR the password was not checked: too many logins from this address have failed and wait; try again later',
  loginUndecided: (afterMs: number) =>
    `ERR the password was not checked within ${afterMs} ms, or inside MULTI, where a login cannot wait: try again`,
  commandNotPermitted: (command: string) => `NOPERM this user has no permissions to run the '${command}' command`,
  keyNotPermitted: 'NOPERM this user has no permissions to access one of the keys used as arguments',
  noLongerPermitted: (reason: string) =>
    'NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
    `This command is no longer allowed for the following reason: ${reason}`,
  unknownCategory: (category: string) => `ERR Unknown category '${category}'`,
  passwordBits:
    'ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096',
  reloadFailed: (reason: string) => `ERR nothing was changed: ${reason}`,
  reloadLate: (afterMs: number) =>
    `ERR the configuration was not read again within ${afterMs} ms; the log says when it is`,
  helloUnauthenticated:
    'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> ' +
    '<pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
  unsupportedProtocol: 'NOPROTO unsupported protocol version',
  helloOption: (option: string) => `ERR Syntax error in HELLO option '${option}'`,
  databaseOutOfRange: 'ERR DB index is out of range',
  clientNameInvalid: 'ERR Client names cannot contain spaces, newlines or special characters.',
  clientNameTooLong: (bytes: number, maximum: number) =>
    `ERR Client names and library names can have ${maximum} bytes at most, this one has ${bytes}`,
  clientInfoInvalid: (attribute: string) => `ERR ${attribute} cannot contain spaces, newlines or special characters.`,
  clientInfoUnknown: (attribute: string) => `ERR Unrecognized option '${attribute}'`,
  noSuchClient: 'ERR No such client',
  noSuchUser: (user: string) => `ERR No such user '${user}'`,
  clientIdNotPositive: 'ERR client-id should be greater than 0',
  clientIdInvalid: 'ERR Invalid client ID',
  clientTypeUnknown: (type: string) => `ERR Unknown client type '${type}'`,
  noPause: 'ERR CLIENT PAUSE is not supported',

  // Administration.
  configUnknown: (name: string) => `ERR Unknown option or number of arguments for CONFIG SET - '${name}'`,
  configRefused: (name: string, reason: string) =>
    `ERR CONFIG SET failed (possibly related to argument '${name}') - ${reason}`,
  noConfigRewrite: 'ERR Rewriting config file: not supported, the configuration comes from flags and the environment',
  debugUnknown: (name: string) => `ERR unknown subcommand or wrong number of arguments for '${name}'. Try DEBUG HELP.`,
  slowlogCount: 'ERR count should be greater than or equal to -1',
  getkeysUnknown: 'ERR Invalid command specified',
  getkeysArity: 'ERR Invalid number of arguments specified for command',
  getkeysNone: 'ERR The command has no key arguments',
  timeoutNegative: 'ERR timeout is negative',
  timeoutNotAnInteger: 'ERR timeout is not an integer or out of range',
  waitAofDisabled: 'ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.',
  outOfRangeBetween: (minimum: number, maximum: number) =>
    `ERR value is out of range, value must between ${minimum} and ${maximum}`,
  mustBePositive: 'ERR value is out of range, must be positive',

  // Features of Redis that QuotaDB does not have.
  noScripts: 'ERR scripts are not supported: QuotaDB has counters and limits as commands of their own',
  noScript: 'NOSCRIPT No matching script. Please use EVAL.',
  noPubSub: 'ERR publish/subscribe is not supported',
  scriptFlushOption: 'ERR SCRIPT FLUSH only support SYNC|ASYNC option',
  functionFlushOption: 'ERR FUNCTION FLUSH only supports SYNC|ASYNC option',
  unknownArgument: (argument: string) => `ERR Unknown argument ${argument}`,
} as const;

/** The error reply for a change that the engine refused; not for Status.Ok. */
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
