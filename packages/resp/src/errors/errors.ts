import { Engine, Status } from '@quotadb/engine';
import { MAX_CELL_KEY_BYTES, MAX_WINDOW_MS } from '@quotadb/rate';
import { DURATION_EXAMPLES, formatDuration } from '@quotadb/wire';

/** Patterns that people write have a few dozen bytes. At this length a match takes 33 steps per byte of the text. */
export const MAXIMUM_PATTERN_BYTES = 1024;

/**
 * Every error reply, in one place. The first word is the code that clients match on. Where Redis has the same error,
 * the text is Redis's own, to the letter, because deployed code matches on it.
 */
export const errors = {
  syntax: 'ERR syntax error',
  notAnInteger: 'ERR value is not an integer or out of range',
  // A code of its own for what Redis would take: phpredis turns `ERR` into `false`, and a lock, a cache or a limiter
  // takes that for "held", "missing" or "not limited". It throws on codes that it does not know.
  valueNotAnInteger: (value: string) =>
    `NOTINTEGER the value is refused: ${value} is no 64-bit integer, and only those are kept here. For a lock use a ` +
    'lease (QUOTA.DEFINE locks LIMIT 1 LEASE 30s, then QUOTA.ACQUIRE locks NAME TTL 30s), for other data another ' +
    'server',
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
  /** Commands that Redis does not have say how they are used. */
  wrongArity: (command: string, usage?: string) =>
    `ERR wrong number of arguments for '${command}' command${usage === undefined ? '' : `: ${usage}`}`,
  /** The same for a word that is not understood, by its position behind the command. */
  syntaxAt: (position: number, word: string, allowed: string) =>
    `ERR syntax error: ${word}, argument ${position}, is not understood here: ${allowed}`,
  valueMissing: (word: string, allowed: string) => `ERR syntax error: nothing comes after ${word}: ${allowed}`,
  notADuration: (name: string, value: string, minimumMs: number, maximumMs: number) =>
    `ERR ${name} is no duration or out of range: ${value}. Give ${formatDuration(minimumMs)} to ` +
    `${formatDuration(maximumMs)}, such as ${DURATION_EXAMPLES}; a bare number is milliseconds`,
  lifetime: (value: string) =>
    `ERR value is not an integer or out of range: the expiry is ${value}. Give seconds, or a duration such as ` +
    DURATION_EXAMPLES,
  invalidExpire: (command: string) => `ERR invalid expire time in '${command}' command`,
  expiryConditionsConflict: 'ERR NX and XX, GT or LT options at the same time are not compatible',
  expiryComparisonsConflict: 'ERR GT and LT options at the same time are not compatible',
  unsupportedOption: (option: string) => `ERR Unsupported option ${option}`,
  namedNotAnInteger: (name: string) => `ERR ${name} is not an integer or out of range`,
  boundsCrossed: "ERR LBOUND can't be greater than UBOUND",
  expiryMissingForEnx: 'ERR ENX flag requires an expiration',
  appliedOverflow: 'ERR applied increment would overflow',
  noFloats: (what: string) => `NOTINTEGER ${what} is refused: counters hold integers. Count in the smallest unit`,
  sameObject: 'ERR source and destination objects are the same',
  frequencyNotTracked:
    'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching ' +
    'between policies at runtime LRU and LFU data will take some time to adjust.',
  // Windows and rate limits.
  reservedKey: 'ERR keys that begin with the bytes 00 51 44 are reserved for cells of windows and limits',
  cellKeyTooLong: `ERR key is too long: at most ${MAX_CELL_KEY_BYTES} bytes in windows and limits`,
  /** A number of a window or a limit, by its name in the syntax of the command. */
  notBetween: (name: string, value: string, lowest: number | string, highest: number | string) =>
    `ERR ${name} is not an integer or out of range: ${value}. Give ${lowest} to ${highest}`,
  windowLength: (given: string) =>
    `ERR window is out of range, must be from 1 to ${MAX_WINDOW_MS} milliseconds: ${given}`,
  windowUnit: (given: number) => `ERR the window ${given} has no unit: write ${given}s or ${given}ms`,
  windowNotUnderstood: (given: string) =>
    `ERR '${given}' is no window: write milliseconds from 1000 on, or ${DURATION_EXAMPLES}`,
  calendarNotUnderstood: (given: string, fault: string) =>
    `ERR '${given}' is no window: ${fault}. Windows of the calendar are written ` +
    'month, day@Europe/Berlin or month@UTC:15',
  windowOver: 'ERR the window is over',
  limitsIncomplete: (words: number) =>
    `ERR syntax error: each limit is three words, key limit window, and there are ${words} after the cost`,
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
  notReplicated: (reason: string) => `NOREPLICAS ${reason}`,
  stale: (region: string, ageMs: number | undefined, maximumAgeMs: number) => {
    const age = ageMs === undefined ? 'never wholly known here' : `last wholly known ${Math.round(ageMs)} ms ago`;
    return `STALE region ${region} was ${age}; the read asks for at most ${maximumAgeMs} ms`;
  },
  replication: (reason: string) => `ERR ${reason}`,
  replicationLate: (afterMs: number) =>
    `ERR the main thread has not answered this request to replication after ${afterMs} ms: see REPL.PEERS LIST`,

  // Quotas.
  itemsMissing: (count: number, words: number) =>
    `ERR syntax error: a count of ${count} needs ${3 * count} words, name subject cost for each quota, ` +
    `and there are ${words}`,
  quota: (reason: string) => `ERR ${reason}`,
  quotaInTransaction: 'ERR this command asks another thread and cannot run inside MULTI or a script',
  quotaStopping: 'ERR the server is stopping: try again at another address',

  // Limits of the catalogue.
  limit: (reason: string) => `ERR ${reason}`,
  limitUnknown: (name: string) => `ERR there is no limit or domain '${name}' in the catalogue`,
  limitCost: (given: string, highest: number) => `ERR the cost is a whole number from 0 to ${highest}, not '${given}'`,
  limitIsLeased: (name: string) =>
    `ERR '${name}' limits leases held at once: LIMIT.CHECK ${name} <subject> LEASE <id> takes one, LIMIT.RELEASE ` +
    'ends it',
  limitLease: (maximum: number, bytes: number) => `ERR LEASE must have 1 to ${maximum} bytes, this one has ${bytes}`,

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
  noWatch:
    'NOTSUPPORTED WATCH is not supported: EXEC runs its commands with no other client in between, without conditions',

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
  // Clients that ignore the error of SELECT are many: phpredis, ioredis and redis-cli go on in the database before.
  noDatabase: (database: number, databases: number) =>
    `NODATABASE DB index is out of range: with --databases ${databases} there is no database ${database}. This ` +
    'connection touches no keys until it selects another',
  databaseNotSelected:
    'NODATABASE the last SELECT of this connection was refused, so it touches no keys until ' +
    'it selects another database',
  monitoring: 'ERR this connection monitors the others: RESET ends it',
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
  pauseMode: 'ERR CLIENT PAUSE mode must be WRITE or ALL',
  unblockReason: 'ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR',
  unblocked: 'UNBLOCKED client unblocked via CLIENT UNBLOCK',
  cachingWithoutTracking:
    'ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled',

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

  // Scripts. Some have no code: it is put in front of them where a script gets them as a table.
  noScript: 'NOSCRIPT No matching script. Please use EVAL.',
  scriptKeysNegative: "ERR Number of keys can't be negative",
  scriptKeysTooMany: "ERR Number of keys can't be greater than number of args",
  scriptFlushOption: 'ERR SCRIPT FLUSH only support SYNC|ASYNC option',
  scriptTooLong: (bytes: number, maximum: number) =>
    `ERR the script has ${bytes} bytes, at most ${maximum} are compiled`,
  scriptShebang: (mistake: string) => `ERR ${mistake}`,
  scriptCompilation: (mistake: string) => `ERR Error compiling script (new function): ${mistake}`,
  scriptWritesReadOnly: 'ERR Can not execute a script with write flag using *_ro command.',
  scriptNoDebug: 'ERR SCRIPT DEBUG is not supported: scripts cannot be stopped and stepped through',
  scriptNotBusy: 'NOTBUSY No scripts in execution right now.',
  scriptUnkillable:
    'UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script ' +
    'termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.',
  busy: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  scriptKilled: 'Script killed by user with SCRIPT KILL...',
  scriptTooSlow: (seconds: number) =>
    `Script ended: it has run for ${seconds} seconds, and keeps its keys locked meanwhile; what it has written stays`,
  scriptResultTooLarge: (maximum: number) =>
    `The result of the script is too large: a reply has at most ${maximum} bytes`,
  luaStackLimit: 'ERR reached lua stack limit',
  scriptNoArguments: 'Please specify at least one argument for this redis lib call',
  scriptArgumentType: 'Lua redis lib command arguments must be strings or integers',
  scriptUnknownCommand: 'ERR Unknown Redis command called from script',
  scriptArity: 'ERR Wrong number of args calling Redis command from script',
  scriptNotAllowed: 'ERR This Redis command is not allowed from script',
  scriptPermission: "ERR The user executing the script can't run this command or subcommand",
  scriptKey:
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
  scriptReadOnly: 'ERR Write commands are not allowed from read-only scripts.',
  scriptKeyBusy:
    'ERR Script attempted to access a non local key in a cluster node: it is not among KEYS, the script has written ' +
    'already, and another client keeps the key locked. Name all keys in KEYS, or try again',

  // Features of Redis that QuotaDB does not have. NOTSUPPORTED and not ERR, as with NOTINTEGER: a WATCH that is taken
  // for done makes a transaction without its condition.
  noPubSub: 'NOTSUPPORTED publish/subscribe is not supported',
  noSwap: 'NOTSUPPORTED SWAPDB is not supported: the other regions count in these keys too',
  noTracking: 'NOTSUPPORTED CLIENT TRACKING is not supported: every increment would invalidate the copies of a counter',
  // The cluster.
  moved: (slot: number, host: string, port: number) => `MOVED ${slot} ${host}:${port}`,
  crossSlot: "CROSSSLOT Keys in request don't hash to the same slot",
  slotNotServed: 'CLUSTERDOWN Hash slot not served',
  slotHeld: (slot: number) => `TRYAGAIN the slot ${slot} is on its way to another group`,
  slotInvalid: 'ERR Invalid slot',
  slotOrCountInvalid: 'ERR Invalid slot or number of keys',
  nodeUnknown: (id: string) => `ERR Unknown node ${id}`,
  mapDecides:
    'NOTSUPPORTED the cluster map says who the members are and which slots they own: change the file of --cluster-map',
  movingNodesOnly: 'ERR this is for other nodes of the cluster, which say CLUSTER CARRY first',
  scriptForeignKey: 'ERR Script attempted to access a non local key in a cluster node',
  forwardStopped: 'ERR the server is stopping: try again at another address',

  copying: 'LOADING this server copies the data of its group, and takes no clients yet',
  noCluster: 'ERR This instance has cluster support disabled',
  noFunctions:
    'NOTSUPPORTED functions are not supported: send the script with EVAL, or load it with SCRIPT LOAD and call it ' +
    'with EVALSHA',
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
