import type { Value } from './value.js';

/** A Lua error on its way to a `pcall`, or to the host. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  /** What `error` was given, or the text with the position. */
  readonly value: Value;
  /** Where the innermost Lua function was. 0 is unknown. */
  readonly line: number;
  /** Of which chunk: `@user_script`, or the text that was given to `loadstring`. */
  readonly source: string;

  constructor(value: Value, { line, source }: { readonly line: number; readonly source: string }) {
    super(typeof value === 'string' ? value : 'a Lua error whose value is no string');
    this.value = value;
    this.line = line;
    this.source = source;
  }
}

/** The source is not Lua, or passes a bound. The message is as Lua gives it, with chunk name and line. */
export class LuaSyntaxError extends Error {
  override readonly name = 'LuaSyntaxError';
}

/** Ends a script: no `pcall` catches it. An interrupt hook throws it, or an error class of its own. */
export class ScriptAborted extends Error {
  override readonly name = 'ScriptAborted';
  readonly reason: 'memory' | 'stack' | 'interrupt';

  constructor(reason: 'memory' | 'stack' | 'interrupt') {
    super(`The script was ended: ${TEXTS[reason]}.`);
    this.reason = reason;
  }
}

const TEXTS = {
  memory: 'it allocated more memory than a script may',
  stack: 'its calls are nested too deep',
  interrupt: 'it was interrupted',
};
