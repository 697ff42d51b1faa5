import { compileChunk } from './compile.js';
import type { Environment } from './environment.js';
import type { Generated } from './generate/generate.js';
import { ScriptAborted } from './values/errors.js';
import { running } from './values/running.js';
import type { Table } from './values/table.js';
import type { LuaFunction, Value, Values } from './values/value.js';

/** What Redis calls the chunk of EVAL. */
const CHUNK_NAME = '@user_script';

export interface CompileOptions {
  readonly environment: Environment;
  readonly chunkName?: string;
}

/** A source with one byte in each character. Throws LuaSyntaxError. */
export function compile(source: string, { environment, chunkName = CHUNK_NAME }: CompileOptions): Script {
  const generated = compileChunk(source, { chunkName, globals: environment.globals, hasParameters: true });
  return new Script(generated, environment);
}

export class Script {
  readonly #main: LuaFunction;
  readonly #environment: Environment;

  readonly #usesGlobals: boolean;

  constructor({ main, usesGlobals }: Generated, environment: Environment) {
    this.#main = main;
    this.#usesGlobals = usesGlobals;
    this.#environment = environment;
  }

  /** Throws LuaError, ScriptAborted, or what the interrupt threw. */
  run(keys: Table, argv: Table): Value | Values {
    const environment = this.#environment;
    running.start(environment.bounds, environment.strings, environment.interrupt);
    if (this.#usesGlobals) environment.setParameters(keys, argv);
    try {
      return this.#main(keys, argv);
    } catch (error) {
      // The bound of the stack is reached before V8's own, but for code that takes more than was estimated.
      if (error instanceof RangeError && error.message.includes('call stack')) throw new ScriptAborted('stack');
      throw error;
    } finally {
      running.stop();
    }
  }
}
