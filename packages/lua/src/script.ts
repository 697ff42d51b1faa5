import { compileChunk } from './compile.js';
import type { Environment } from './environment.js';
import type { Generated, Main } from './generate/generate.js';
import { ScriptAborted } from './values/errors.js';
import { running } from './values/running.js';
import type { Value, Values } from './values/value.js';
import type { Words } from './values/words.js';

/** What Redis calls the chunk of EVAL. */
const CHUNK_NAME = '@user_script';

export interface CompileOptions {
  readonly environment: Environment;
  readonly chunkName?: string;
}

/** A source with one byte in each character. Throws LuaSyntaxError. */
export function compile(source: string, { environment, chunkName = CHUNK_NAME }: CompileOptions): Script {
  const { globals, takingWords } = environment;
  const generated = compileChunk(source, { chunkName, globals, takingWords, hasParameters: true });
  return new Script(generated, environment);
}

export class Script {
  readonly #main: Main;
  readonly #environment: Environment;
  readonly #usesGlobals: boolean;
  readonly #keysAreTable: boolean;
  readonly #argvIsTable: boolean;

  constructor({ main, tables, usesGlobals }: Generated, environment: Environment) {
    this.#main = main;
    this.#keysAreTable = tables.has('KEYS');
    this.#argvIsTable = tables.has('ARGV');
    this.#usesGlobals = usesGlobals;
    this.#environment = environment;
  }

  /** Throws LuaError, ScriptAborted, or what the interrupt threw. */
  run(keyWords: Words, argvWords: Words): Value | Values {
    const environment = this.#environment;
    const keys = this.#keysAreTable ? keyWords.table() : keyWords;
    const argv = this.#argvIsTable ? argvWords.table() : argvWords;
    running.start(environment.bounds, environment.strings, environment.interrupt);
    if (this.#usesGlobals) environment.setParameters(keys.table(), argv.table());
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
