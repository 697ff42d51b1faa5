import type { Words } from './words.js';
import { asInt64, expiryArguments, setValues } from './words.js';

/**
 * Where we answer otherwise than Redis, on purpose. docs/redis-differences.md is made from this table. A row with an
 * example is tried against both servers; a row with `touches` names the commands that the random comparison has to
 * leave out.
 */
export interface Difference {
  readonly title: string;
  readonly redis: string;
  readonly ours: string;
  readonly why: string;
  readonly example?: {
    readonly commands: readonly Words[];
    /** The first line of each server's reply to the last of them. */
    readonly redis: string;
    readonly ours: string;
  };
  readonly touches?: (command: Words) => boolean;
  /** The same between MULTI and EXEC only. */
  readonly touchesInTransaction?: (command: Words) => boolean;
}

/** The latest time of expiry in milliseconds, as in commands/keys/expiry-time.ts, less a margin for `now`. */
const LATEST_SAFE_MS = BigInt(Number.MAX_SAFE_INTEGER) - 10n ** 14n;
const INT64_MAX = 2n ** 63n - 1n;

export const differences: readonly Difference[] = [
  {
    title: 'Values are integers',
    redis: 'A string holds any bytes.',
    ours:
      'SET, SETEX, PSETEX, SETNX, GETSET, MSET and MSETNX take signed 64-bit integers in their shortest form; ' +
      'anything else is refused with the code NOTINTEGER, which no library takes for another error.',
    why: 'A value is the sum of what every region has counted. There is nothing to add up in a string.',
    example: {
      commands: [['SET', 'key', 'some text']],
      redis: '+OK',
      ours:
        "-NOTINTEGER the value is refused: 'some text' is no 64-bit integer, and only those are kept here. For a " +
        'lock use a lease (QUOTA.DEFINE locks LIMIT 1 LEASE 30s, then QUOTA.ACQUIRE locks NAME TTL 30s), for ' +
        'other data another server',
    },
    touches: (command) => setValues(command).some((value) => asInt64(value) === undefined),
  },
  {
    title: 'The latest expiry is 2^53 − 1 milliseconds after 1970',
    redis: 'An expiry is a signed 64-bit number of milliseconds.',
    ours: 'A time past the year 287396 becomes that one. Past 64 bits it is refused as in Redis.',
    why: 'Up to there a JavaScript number holds every millisecond exactly.',
    example: {
      commands: [
        ['SET', 'key', '1'],
        ['PEXPIREAT', 'key', '9223372036854775807'],
        ['PEXPIRETIME', 'key'],
      ],
      redis: ':9223372036854775807',
      ours: ':9007199254740991',
    },
    touches: (command) =>
      expiryArguments(command).some(({ amount, unitMs }) => {
        const atMs = amount * BigInt(unitMs);
        return atMs > LATEST_SAFE_MS && atMs <= INT64_MAX;
      }),
  },
  {
    title: 'Other types and what belongs to them',
    redis: 'Strings, lists, sets, hashes, streams, and floating-point increments.',
    ours:
      'Unknown commands. So are APPEND, GETRANGE, SETRANGE, SUBSTR, LCS, DUMP, RESTORE, SORT and SORT_RO; ' +
      'INCRBYFLOAT is refused by name. TYPE replies string or none, and SCAN … TYPE finds keys for string only.',
    why: 'There are counters, and nothing else.',
    example: {
      commands: [['INCRBYFLOAT', 'key', '1']],
      redis: '$1',
      ours: '-NOTINTEGER INCRBYFLOAT is refused: counters hold integers. Count in the smallest unit',
    },
  },
  {
    title: 'Keys have at most 65536 bytes',
    redis: 'Up to 512 MB.',
    ours: 'A write to a longer key is an error. To a read, a longer key does not exist.',
    why: 'Keys live in shared memory, side by side; a bound keeps what one key can take away from others small.',
    example: {
      commands: [['INCR', 'k'.repeat(65537)]],
      redis: ':1',
      ours: '-ERR key is too long: at most 65536 bytes',
    },
  },
  {
    title: 'Keys that begin with the bytes 00 51 44 are reserved',
    redis: 'A key is any bytes.',
    ours:
      'A command that names such a key is refused. SCAN, KEYS and RANDOMKEY do not show them; DBSIZE and INFO ' +
      'count the cells, all in database 0; FLUSHALL takes them along, and FLUSHDB those of its database.',
    why:
      'They are the cells of WINDOW and RATE commands and the keys of other databases, which no other command may ' +
      'touch.',
  },
  {
    title: 'DBSIZE and keys that have expired',
    redis:
      'Counts a key that has expired until it is dropped: at the next access to it, or by the sampling of ' +
      'expired keys.',
    ours: 'Counts it until it is dropped by the clock, within a fraction of a second.',
    why: 'Reading a key writes nothing.',
  },
  {
    title: 'Memory that is full',
    redis: 'Past maxmemory every command that may take memory is refused, or keys are evicted.',
    ours: 'A new key gets the OOM error; keys that exist go on counting. Nothing is ever evicted.',
    why: 'A limit that is enforced by a counter must not be lost because other counters were created.',
  },
  {
    title: 'Grow-only namespaces',
    redis: 'Has none.',
    ours:
      'A key that the configuration puts into such a namespace can be incremented. What would lower or delete ' +
      'it is an error (DEL of several keys stops there), and FLUSHALL leaves it.',
    why: 'A total that can only grow needs no reset to be agreed on between regions.',
  },
  {
    title: 'INCREX without BYFLOAT',
    redis: 'Since 8.8, INCREX counts in integers or in floating point.',
    ours: 'INCREX as in 8.8, in integers; BYFLOAT is an error that says so.',
    why: 'Values are integers.',
  },
  {
    title: 'INCRBYEX',
    redis: 'Has none.',
    ours:
      '`INCRBYEX key increment seconds` increments, starts the expiry where the key has none, and replies with ' +
      'the value.',
    why: 'INCR followed by EXPIRE leaves a key that never expires when the second command is lost.',
  },
  {
    title: 'OBJECT',
    redis: 'REFCOUNT and IDLETIME look into the object.',
    ours:
      'REFCOUNT is 1 and IDLETIME is 0 for every key; ENCODING is int; FREQ is refused as Redis refuses it ' +
      'without an LFU policy; HELP has words of its own.',
    why: 'Values are not shared, and access times are not kept: reading a counter writes nothing.',
    example: {
      commands: [
        ['SET', 'key', '5'],
        ['OBJECT', 'REFCOUNT', 'key'],
      ],
      redis: ':2147483647',
      ours: ':1',
    },
    touches: (command) => /^(refcount|idletime|help)$/i.test(command[1] ?? '') && /^object$/i.test(command[0]),
  },
  {
    title: 'UNLINK, FLUSHALL ASYNC',
    redis: 'Memory is given back by another thread.',
    ours: 'The same as DEL and FLUSHALL.',
    why: 'A counter is freed by marking its slot.',
  },
  {
    title: 'A SCAN looks at no more than a million keys a call',
    redis: 'COUNT is taken as it is.',
    ours: 'A larger COUNT is lowered, and a reply ends past 16 MiB of keys; the cursor goes on from there.',
    why: 'One call must not hold up the others for seconds. COUNT is a hint in Redis too.',
  },
  {
    title: 'KEYS gives way to other clients',
    redis: 'KEYS keeps all other clients waiting until it has ended; inside MULTI too.',
    ours:
      'Other clients are served while KEYS works, as between the calls of a SCAN: it returns the keys that are there ' +
      'from its beginning to its end, each once, and may return others. Inside MULTI it is refused, and SCAN visits ' +
      'about ten keys. Keys that take more than 128 MiB together are an error.',
    why: 'A user who may read must not be able to stop the server.',
    example: {
      commands: [['MULTI'], ['KEYS', '*']],
      redis: '+QUEUED',
      ours: '-ERR Command not allowed inside a transaction',
    },
    touchesInTransaction: ([name]) => /^(keys|scan)$/i.test(name),
  },
  {
    title: 'Patterns have at most 1024 bytes',
    redis: 'Up to 512 MB, and a match may take the product of pattern and key.',
    ours:
      'A longer pattern of KEYS, SCAN, CONFIG GET or COMMAND LIST is an error. A match reads every byte of the key ' +
      'once.',
    why: 'One command must not hold up the others for seconds.',
    example: {
      commands: [['KEYS', 'k'.repeat(1025)]],
      redis: '*0',
      ours: '-ERR the pattern is too long: 1025 bytes, at most 1024 are matched',
    },
    touches: ([name, ...words]) => /^(keys|scan)$/i.test(name) && words.some(({ length }) => length > 1024),
  },
  {
    title: 'Commands in a transaction whose work does not depend on their arguments alone',
    redis: 'Any number.',
    ours: '64 of INFO, SCAN, COMMAND and their like; one more breaks the transaction.',
    why: 'EXEC keeps all other clients waiting.',
  },
  {
    title: 'Names of connections and libraries have at most 256 bytes',
    redis: 'Up to 512 MB.',
    ours: 'CLIENT SETNAME, CLIENT SETINFO and HELLO … SETNAME refuse a longer one.',
    why: 'Every connection keeps its names, and CLIENT LIST shows those of all.',
    example: {
      commands: [['CLIENT', 'SETNAME', 'n'.repeat(257)]],
      redis: '+OK',
      ours: '-ERR Client names and library names can have 256 bytes at most, this one has 257',
    },
  },
  {
    title: 'HTTP on a RESP port',
    redis: 'A command named POST or Host: ends the connection; commands in front of it have run.',
    ours:
      'A line of HTTP in any method, or of TLS, ends the connection before anything runs that came with it. In the ' +
      'form of an array, which no browser can send first, POST is an unknown command.',
    why: 'A web page can make a browser send such requests to a port of its own machine.',
  },
  {
    title: 'Ranges in patterns compare bytes as 0 to 255',
    redis: 'On x86, bytes over 127 compare as negative numbers, so `[a-ÿ]` in Latin-1 is another range than it reads.',
    ours: 'As Redis does on ARM: every byte by its number.',
    why: 'The same keys should match wherever the server runs.',
  },
  {
    title: 'MULTI and EXEC without WATCH',
    redis: 'WATCH makes EXEC depend on keys that did not change.',
    ours:
      'MULTI, EXEC and DISCARD run commands that no other client of this node comes between; WATCH is refused. ' +
      'Nothing is promised across regions.',
    why: 'Another region may change a key at any time without asking.',
    example: {
      commands: [['WATCH', 'key']],
      redis: '+OK',
      ours:
        '-NOTSUPPORTED WATCH is not supported: EXEC runs its commands with no other client in between, without ' +
        'conditions',
    },
  },
  {
    title: 'Databases',
    redis: 'SELECT chooses one of sixteen; after an error the connection stays in the one before.',
    ours:
      'One, or as many as --databases says. After a SELECT that was refused, the connection touches no keys until it ' +
      'selects a database that is there. SWAPDB is refused. The subjects of quotas are the same in every database.',
    why:
      'Many clients do not look at the reply of SELECT: they would count in the keys of another program. The ' +
      'databases of Redis clients that use one each stay apart with --databases.',
    example: {
      commands: [
        ['SELECT', '99'],
        ['GET', 'key'],
      ],
      redis: '$-1',
      ours:
        '-NODATABASE the last SELECT of this connection was refused, so it touches no keys until it selects another ' +
        'database',
    },
    touches: ([name]) => /^swapdb$/i.test(name),
  },
  {
    title: 'RENAME, COPY and MOVE across regions',
    redis: 'One step that every client sees.',
    ours:
      'One step to the clients of this server. To other regions it is a reset of the old name, as far as this region ' +
      'has seen it, and an assignment of the new one: what they count in the old name meanwhile stays there.',
    why: 'Another region may change a key at any time without asking.',
  },
  {
    title: 'MONITOR',
    redis: 'Streams every command to the client, and buffers what it does not read.',
    ours:
      'The same, without secrets; a client that reads too slowly misses commands and is shown how many. An argument ' +
      'is shown up to 1024 bytes, a command up to 64 arguments. While it monitors, a connection runs PING, RESET and ' +
      'QUIT. Inside MULTI it is refused.',
    why: 'One slow reader must not take the memory of all.',
  },
  {
    title: 'SHUTDOWN and LOLWUT',
    redis: 'SHUTDOWN stops the server.',
    ours: 'SHUTDOWN and LOLWUT are unknown commands. SIGTERM stops the server.',
    why: 'Clients do not stop a server.',
    example: {
      commands: [['LOLWUT', 'VERSION', 'x']],
      redis: '-ERR value is not an integer or out of range',
      ours: "-ERR unknown command 'LOLWUT', with args beginning with: 'VERSION' 'x' ",
    },
  },
  {
    title: 'CLIENT TRACKING and CLIENT PAUSE',
    redis: 'Clients cache values and are notified of changes; an administrator pauses clients.',
    ours:
      'CLIENT TRACKING ON is refused. CLIENT PAUSE postpones the commands of Redis clients of this server: HTTP and ' +
      'other regions go on, and keys expire.',
    why: 'An increment would invalidate every cached copy. A pause of one server would not pause the other regions.',
    example: {
      commands: [['CLIENT', 'TRACKING', 'ON']],
      redis: '+OK',
      ours: '-NOTSUPPORTED CLIENT TRACKING is not supported: every increment would invalidate the copies of a counter',
    },
  },
  {
    title: 'LATENCY HISTOGRAM and LATENCY GRAPH',
    redis: 'Histograms of commands in powers of two, and a graph of an event in characters.',
    ours:
      'LATENCY HISTOGRAM has the buckets of /metrics, which are finer, and of a pipeline all commands that are quick ' +
      'count as equally long. LATENCY GRAPH is an unknown subcommand.',
    why: 'Reading the clock around every command would cost more than some commands do.',
    example: {
      commands: [['LATENCY', 'GRAPH', 'command']],
      redis: "-ERR No samples available for event 'command'",
      ours: "-ERR unknown subcommand 'GRAPH'. Try LATENCY HELP.",
    },
  },
  {
    title: 'CONFIG REWRITE, and users that commands make',
    redis:
      'CONFIG REWRITE writes settings into the config file; ACL SETUSER, DELUSER and SAVE change users, ACL ' +
      'DRYRUN and LOG look into them.',
    ours:
      'CONFIG REWRITE is refused; those of ACL are unknown subcommands. ACL LOAD reads the users of the config ' +
      'file again.',
    why: 'Settings and users come from flags, the environment and a file that the server never writes.',
    example: {
      commands: [['CONFIG', 'REWRITE']],
      redis: '-ERR The server is running without a config file',
      ours: '-ERR Rewriting config file: not supported, the configuration comes from flags and the environment',
    },
  },
  {
    title: 'Replicas, Cluster, Sentinel and modules',
    redis: 'REPLICAOF, SLAVEOF, SYNC, PSYNC, REPLCONF, FAILOVER, RESTORE-ASKING, MIGRATE, CLUSTER, MODULE.',
    ours:
      'Unknown commands, up to MIGRATE. CLUSTER, ASKING, READONLY and READWRITE reply as a Redis without cluster ' +
      'mode, unless there is a [cluster map](cluster.md): then every node is a master, CLUSTER commands that change ' +
      'nodes or slots are refused, COUNTKEYSINSLOT and GETKEYSINSLOT visit all keys, and commands of clients that do ' +
      'not know of slots are carried to the owner. ROLE is a master without replicas; MODULE LIST is empty, and its ' +
      'other subcommands are unknown.',
    why: 'Every member of a group takes writes; --peer and REPL.PEERS link them.',
  },
  {
    title: 'Scripts',
    redis:
      'EVAL and its kin run Lua, without an end to their time, and keep every script. SCRIPT DEBUG steps through one.',
    ours:
      'The same Lua, results and errors, within bounds of time and memory ([scripts.md](scripts.md)). A script that ' +
      'has run for 60 seconds is ended. Scripts that are no longer used are forgotten, and get NOSCRIPT. SCRIPT ' +
      'DEBUG is refused.',
    why: 'A lane has other clients too.',
  },
  {
    title: 'Functions and publish/subscribe',
    redis: 'FUNCTION, FCALL, SUBSCRIBE and their kin.',
    ours: 'Refused with an error that says so, in scripts too. FUNCTION LIST and STATS answer as a server that holds none.',
    why:
      'Redis keeps functions on disk and on its replicas, and FCALL counts on that: clients do not send them again, ' +
      'as they send a script after NOSCRIPT. Here only counters are kept. Libraries that limit send scripts.',
    example: {
      commands: [['FCALL', 'f', '0']],
      redis: '-ERR Function not found',
      ours:
        '-NOTSUPPORTED functions are not supported: send the script with EVAL, or load it with SCRIPT LOAD and call ' +
        'it with EVALSHA',
    },
  },
  {
    title: 'Error texts repeat what was sent as UTF-8',
    redis: 'Words of the client go into an error as the bytes they are.',
    ours: 'Bytes that are not UTF-8 are replaced by U+FFFD.',
    why: 'Texts are for people, and for logs that expect text.',
    example: {
      commands: [['EXPIRE', 'key', '10', '\xff']],
      redis: '-ERR Unsupported option \xff',
      ours: '-ERR Unsupported option \xef\xbf\xbd',
    },
  },
];

/** Whether Redis and we are meant to reply the same to this command. */
export function isComparable(command: Words): boolean {
  return !differences.some((difference) => difference.touches?.(command));
}

/** The commands without those in transactions that Redis and we are meant to answer differently. */
export function comparableSequence(commands: readonly Words[]): Words[] {
  let isInTransaction = false;
  return commands.filter((command) => {
    const name = command[0].toLowerCase();
    if (name === 'multi') isInTransaction = true;
    else if (command.length === 1 && (name === 'exec' || name === 'discard')) isInTransaction = false;
    return !isInTransaction || !differences.some((difference) => difference.touchesInTransaction?.(command));
  });
}
