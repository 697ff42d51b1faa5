import { ScriptAborted } from './errors.js';
import type { Table } from './table.js';

/** Turns of loops and calls of functions between two calls of the interrupt. */
export const TURNS_BETWEEN_INTERRUPTS = 1000;

/** What an object costs beside its contents, in bytes: about what V8 takes for it. */
export const TABLE_BYTES = 120;
export const CLOSURE_BYTES = 128;
export const ARRAY_SLOT_BYTES = 8;
export const HASH_SLOT_BYTES = 48;
export const STRING_BYTES = 24;

/** Slots (of eight bytes) of the stack that a call of a function takes beside its variables. */
export const CALL_SLOTS = 24;

export interface Bounds {
  /** What a script may allocate in one run, in bytes, freed or not. */
  readonly memoryBytes: number;
  /** What calls inside calls may take of the stack, in bytes. */
  readonly stackBytes: number;
}

/**
 * The meters of the script that runs on this thread. There is one at most: a script runs from its start to its end
 * without waiting, and cannot run another. So they are kept in one place, where generated code and tables reach them.
 */
class Running {
  /** Turns left until the next interrupt. */
  turns = TURNS_BETWEEN_INTERRUPTS;
  /** Bytes left. Small costs are taken without a look; `interrupt` looks. */
  bytes = Number.POSITIVE_INFINITY;
  /** Slots of the stack left. */
  slots = 0;
  /** Calls inside calls that Lua makes from C, as `nest` counts them. */
  nested = 0;
  /** What strings are indexed through: `s:sub(1)`. */
  strings: Table | undefined = undefined;
  #hook: () => void = () => {};

  start(bounds: Bounds, strings: Table | undefined, hook: () => void): void {
    this.turns = TURNS_BETWEEN_INTERRUPTS;
    this.bytes = bounds.memoryBytes;
    this.slots = bounds.stackBytes / 8;
    this.nested = 1;
    this.strings = strings;
    this.#hook = hook;
  }

  /** Tables that the host makes between runs are not counted. */
  stop(): void {
    this.bytes = Number.POSITIVE_INFINITY;
  }

  /** Called by generated code when `turns` is used up. */
  interrupt(): void {
    this.turns = TURNS_BETWEEN_INTERRUPTS;
    if (this.bytes < 0) throw new ScriptAborted('memory');
    this.#hook();
  }

  /** Counts work of a library as the turns of a loop that take as long, and looks after the script as a loop does. */
  work(turns: number): void {
    this.turns -= turns;
    if (this.turns < 0) this.interrupt();
  }

  /** Takes a cost that may be large. */
  spend(bytes: number): void {
    this.bytes -= bytes;
    if (this.bytes < 0) throw new ScriptAborted('memory');
  }
}

export const running = new Running();
