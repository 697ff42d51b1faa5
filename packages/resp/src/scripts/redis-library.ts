import { createHash } from 'node:crypto';
import { REDIS_VERSION } from '@quotadb/config';
import { libraryOf, NONE, plainString, raiseValue, running, Table, toNumber, type Value } from '@quotadb/lua';
import { errors } from '../errors/errors.js';
import { errorReply, libraryError } from './error-table.js';
import type { RequestWord } from './request-words.js';
import type { ScriptCall } from './script-call.js';

/** Levels of redis.log. */
const LogLevel = { LOG_DEBUG: 0, LOG_VERBOSE: 1, LOG_NOTICE: 2, LOG_WARNING: 3 } as const;
/** Accepted by redis.set_repl: what a script changes is replicated as changes of counters, whatever it asks for. */
const Replication = { REPL_NONE: 0, REPL_AOF: 1, REPL_SLAVE: 2, REPL_REPLICA: 2, REPL_ALL: 3 } as const;

/** The global `redis` of scripts. */
export function redisLibrary(call: ScriptCall, log: (level: number, text: string) => void): Table {
  const fail = (text: string): never => raiseValue(libraryError(text));
  return libraryOf({
    ...LogLevel,
    ...Replication,
    REDIS_VERSION,
    REDIS_VERSION_NUM: versionNumber(REDIS_VERSION),
    call(...values: (Value | RequestWord)[]) {
      const result = call.run(values);
      return result instanceof Table && call.hasFailed ? raiseValue(result) : result;
    },
    pcall: (...values: (Value | RequestWord)[]) => call.run(values),
    error_reply: (...values: Value[]) => (isOneString(values) ? errorReply(values[0]) : libraryError(WRONG_ARGUMENTS)),
    status_reply(...values: Value[]) {
      if (!isOneString(values)) return libraryError(WRONG_ARGUMENTS);
      const table = new Table();
      table.set('ok', values[0]);
      return table;
    },
    sha1hex(...values: Value[]) {
      if (values.length !== 1) return fail('wrong number of arguments');
      const text = textOf(values[0]);
      running.work(text.length / HASHED_BYTES_PER_TURN);
      return createHash('sha1').update(text, 'latin1').digest('hex');
    },
    log(...values: Value[]) {
      const [first, ...words] = values;
      const number = toNumber(first);
      if (values.length < 2) return fail('redis.log() requires two arguments or more.');
      if (number === undefined) return fail('First argument must be a number (log level).');
      const level = Math.trunc(number);
      if (!(level >= LogLevel.LOG_DEBUG && level <= LogLevel.LOG_WARNING)) return fail('Invalid debug level.');
      const line = words.map(textOf).join(' ');
      running.spend(LOG_LINE_BYTES + line.length);
      log(level, line);
      return NONE;
    },
    setresp(...values: Value[]) {
      if (values.length !== 1) return fail('redis.setresp() requires one argument.');
      const version = Math.trunc(toNumber(values[0]) ?? 0);
      if (version !== 2 && version !== 3) return fail('RESP version must be 2 or 3.');
      call.reply.protocol = version;
      return NONE;
    },
    set_repl(...values: Value[]) {
      const flags = toNumber(values[0]) ?? 0;
      if (values.length !== 1) return fail('redis.set_repl() requires two arguments.');
      if ((flags & ~Replication.REPL_ALL) !== 0)
        return fail('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.');
      return NONE;
    },
    replicate_commands: () => true,
    breakpoint: () => false,
    debug: () => NONE,
    acl_check_cmd(...values: Value[]) {
      if (values.length === 0) return fail(errors.scriptNoArguments);
      if (!values.every(isText)) return fail(errors.scriptArgumentType);
      return call.isPermitted(values) ?? fail('Invalid command passed to redis.acl_check_cmd()');
    },
  });
}

/** A line of redis.log waits in memory until the main thread has written it: about what it takes beside its text. */
const LOG_LINE_BYTES = 1024;

/** Bytes that are hashed in about the time of one turn of a loop. */
const HASHED_BYTES_PER_TURN = 16;

const WRONG_ARGUMENTS = 'wrong number or type of arguments';

function isOneString(values: readonly Value[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string';
}

function isText(value: Value): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** As lua_tolstring: other values than strings and numbers have no text. */
function textOf(value: Value): string {
  return isText(value) ? plainString(value) : '';
}

function versionNumber(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return (major << 16) | (minor << 8) | patch;
}
