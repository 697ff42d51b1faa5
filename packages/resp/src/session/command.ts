import type { Role } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { ReplyWriter, Request } from '@quotadb/wire';
import type { Client } from './client.js';
import type { ServerState } from './server-state.js';
import type { QueuedCommand } from './transaction.js';

/**
 * One declaration per command. It drives dispatch, the arity error, COMMAND, COMMAND DOCS, COMMAND COUNT and the
 * generated reference in docs/commands.md; nothing about a command is written down anywhere else.
 */
export interface Command {
  /** Lower case, as Redis's COMMAND reports it; a subcommand's own name without its parent's. */
  readonly name: string;
  /** Redis's meaning: the number of words with the name (a subcommand's with its parent's too); negative for "at least". */
  readonly arity: number;
  readonly flags: readonly CommandFlag[];
  /** First key, last key (negative counts from the end), step; left out where there are no keys. */
  readonly keys?: readonly [first: number, last: number, step: number];
  /** Who may run it, where that does not follow from its flags: `write`, `readonly` and `admin` ask for those roles. */
  readonly role?: Role;
  /** The role quota does as well as the one that follows from its flags, `write` or `readonly`. */
  readonly quotaSuffices?: true;
  /** It works on keys it does not name, and leaves out those that its client may not see. */
  readonly leavesOutKeys?: boolean;
  readonly group:
    | 'counter'
    | 'window'
    | 'rate'
    | 'generic'
    | 'connection'
    | 'server'
    | 'transactions'
    | 'replication'
    | 'quota';
  readonly summary: string;
  /** The Redis version that has it, or ours where Redis has not. */
  readonly since: string;
  readonly complexity: string;
  /** What follows the name, as in Redis's documentation: `key amount [NX | XX]`; empty where nothing does. */
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
  | 'no_multi';

/**
 * What a command works with while it runs. The session itself is the call, so that running a command makes no object.
 *
 * A command writes exactly one reply (or none, having called suspend). It may rely on its arity having been checked.
 * An error reply is `call.reply.error(errors.…)`; the session counts it as a failed call by itself.
 */
export interface Call {
  readonly request: Request;
  readonly reply: ReplyWriter;
  readonly engine: Engine;
  /** The connection the command came from. */
  readonly client: Client;
  /** What all connections share: configuration, clock, statistics, the list of clients. */
  readonly server: ServerState;
  /**
   * Holds this connection, and no other, for so many milliseconds (Infinity: until it is closed), then calls finish,
   * which writes the reply. The request is gone by then: read what is needed from it before. Inside MULTI nothing
   * waits: finish is called at once.
   */
  suspend(waitMs: number, finish: (call: Call) => void): void;
  /** Inside EXEC, where nothing waits. */
  readonly executing: boolean;
  /** EXEC: runs these one after another; each writes its own reply. */
  runQueued(commands: readonly QueuedCommand[]): void;
}
