import type { Engine } from '@quotadb/engine';
import type { ReplyWriter, Request } from '@quotadb/wire';

/**
 * One declaration per command. It drives dispatch, the arity error, COMMAND, COMMAND DOCS, COMMAND COUNT and the
 * generated reference in docs/commands.md; nothing about a command is written down anywhere else.
 */
export interface Command {
  /** Lower case, as Redis's COMMAND reports it; a subcommand's own name without its parent's. */
  readonly name: string;
  /** Redis's meaning: the number of words with the name; negative for "at least". */
  readonly arity: number;
  readonly flags: readonly CommandFlag[];
  /** First key, last key (negative counts from the end), step; left out where there are no keys. */
  readonly keys?: readonly [first: number, last: number, step: number];
  readonly group: 'counter' | 'generic' | 'connection' | 'server' | 'transactions';
  readonly summary: string;
  /** The Redis version that has it, or ours where Redis has not. */
  readonly since: string;
  readonly complexity: string;
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

/** What a command works with while it runs. The session itself is the call, so that running a command makes no object. */
export interface Call {
  readonly request: Request;
  readonly reply: ReplyWriter;
  readonly engine: Engine;
}
