import type { Role } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { ReplyWriter, Request } from '@quotadb/wire';
import type { Client } from './client.js';
import type { ServerState } from './server-state.js';
import type { QueuedCommand } from './transaction.js';

/**
 * One declaration per command. Dispatch, the arity error, COMMAND, COMMAND DOCS, COMMAND COUNT and the generated
 * reference in docs/commands.md all use it; nothing about a command is declared anywhere else.
 */
export interface Command {
  /** Lower case, as Redis's COMMAND reports it; a subcommand's own name without its parent's. */
  readonly name: string;
  /** As in Redis: the number of words, the names of command and subcommand included; negative for "at least". */
  readonly arity: number;
  readonly flags: readonly CommandFlag[];
  /** First key, last key (negative counts from the end), step; left out where there are no keys. */
  readonly keys?: readonly [first: number, last: number, step: number];
  /** The argument that says how many keys follow it, as EVAL has it; instead of `keys`. */
  readonly keyCountAt?: number;
  /** The first of these keys and the step between them, where it is not the next argument and 1. */
  readonly countedKeys?: readonly [first: number, step: number];
  /** The role that may run it, where it does not follow from the flags `write`, `readonly` and `admin`. */
  readonly role?: Role;
  /** The role quota may run it too, beside the one that follows from its flags, `write` or `readonly`. */
  readonly quotaSuffices?: true;
  /** It changes a key and returns the value from before: the role read is needed too; for some arguments, or always. */
  readonly alsoReads?: true | ((request: Request) => boolean);
  /** The arguments from this one on are, or may be, secrets: where commands are recorded they are left out. */
  readonly secretsFrom?: number;
  /** It works on keys that it does not name, and leaves out those that its user may not see. */
  readonly leavesOutKeys?: boolean;
  /**
   * In a cluster it runs in parts, one for each group that owns some of its keys; how their replies become one: the
   * values of all keys, the sum, or the status of each.
   */
  readonly splits?: 'values' | 'sum' | 'status';
  /** It lets other clients run before it is finished, so it is refused inside MULTI. */
  readonly givesWay?: true;
  readonly group:
    | 'counter'
    | 'window'
    | 'rate'
    | 'generic'
    | 'connection'
    | 'cluster'
    | 'server'
    | 'transactions'
    | 'scripting'
    | 'replication'
    | 'quota'
    | 'limit';
  readonly summary: string;
  /** The Redis version that introduced it, or QuotaDB's where Redis does not have it. */
  readonly since: string;
  readonly complexity: string;
  /** The arguments, as in Redis's documentation: `key amount [NX | XX]`; empty where there are none. */
  readonly syntax: string;
  readonly subcommands?: readonly Command[];
  /** Absent only where a subcommand must be named. */
  readonly run?: (call: Call) => void;
}

export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'denyoom'
  | 'admin'
  | 'fast'
  | 'blocking'
  | 'loading'
  | 'stale'
  | 'noscript'
  | 'no_auth'
  | 'no_multi'
  | 'allow_busy'
  | 'skip_monitor'
  | 'no_mandatory_keys'
  | 'movablekeys';

/**
 * The interface of a running command. The session itself is the call, so that running a command makes no object.
 *
 * A command writes exactly one reply, or calls suspend. Its arity has been checked. An error reply is
 * `call.reply.error(errors.…)`; the session counts it as a failed call.
 */
export interface Call {
  readonly request: Request;
  readonly reply: ReplyWriter;
  readonly engine: Engine;
  /** The connection the command came from. */
  readonly client: Client;
  /** Shared by all connections: configuration, clock, statistics, the list of clients. */
  readonly server: ServerState;
  /**
   * Suspends this connection, and no other, for `waitMs` milliseconds (Infinity: until it is closed), then calls
   * finish, which writes the reply. The request is gone by then: read its arguments before. Inside EXEC commands do not
   * wait, and finish is called at once.
   */
  suspend(waitMs: number, finish: (call: Call) => void): void;
  /** Inside EXEC, where commands do not wait. */
  readonly executing: boolean;
  /** EXEC: runs these one after another; each writes its own reply. */
  runQueued(commands: readonly QueuedCommand[]): void;
}
