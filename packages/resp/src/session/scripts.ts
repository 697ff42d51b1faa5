import type { ScriptBoard } from '../services/script-board.js';
import type { Client } from './client.js';
import type { Call } from './command.js';

/** Runs the scripts of one lane; the folder `scripts` has it. */
export interface Scripts {
  /** What all lanes share. */
  readonly board: ScriptBoard;
  /** EVAL: the source is the argument 1, the number of keys the argument 2. Writes the reply. */
  evaluate(call: Call, isReadOnly: boolean): void;
  /** EVALSHA: the same with a digest as argument 1. */
  evaluateStored(call: Call, isReadOnly: boolean): void;
  /** Compiles and keeps a script. The digest, or an error reply. */
  load(source: string): { readonly digest: string } | { readonly error: string };
  /** Called again and again while a script of this client runs for long: the lane answers its other connections. */
  meanwhile: (running: Client) => void;
}
