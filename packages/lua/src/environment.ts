import { compileChunk } from './compile.js';
import { base } from './libraries/base.js';
import { bit } from './libraries/bit.js';
import { createCjson } from './libraries/cjson/cjson.js';
import { cmsgpack } from './libraries/cmsgpack/cmsgpack.js';
import { loadFunctions } from './libraries/load.js';
import { mathFunctions } from './libraries/math.js';
import { RedisRandom } from './libraries/random.js';
import { string } from './libraries/string/string.js';
import { struct } from './libraries/struct/struct.js';
import { table } from './libraries/table.js';
import { plainString } from './libraries/to-string.js';
import { beforeZero } from './values/c-string.js';
import { raise } from './values/raise.js';
import type { Bounds } from './values/running.js';
import { Table } from './values/table.js';
import type { LuaFunction, Value } from './values/value.js';

/** What one run of a script may allocate. */
const SCRIPT_MEMORY_BYTES = 128 * 1024 * 1024;
/** What calls inside calls may take of the stack: under half of what V8 has on the main thread. */
const SCRIPT_STACK_BYTES = 400 * 1024;

export interface EnvironmentOptions {
  /** More globals, by name: `redis`. Tables of functions are made readonly. */
  readonly libraries?: Readonly<Record<string, Value>>;
  /** Called every thousand turns of loops and calls of functions. What it throws ends the script. */
  readonly interrupt?: () => void;
  readonly bounds?: Partial<Bounds>;
  /** Functions of the libraries that take words of KEYS and ARGV as the host's `Words.word` gives them. */
  readonly takingWords?: ReadonlySet<Value>;
}

const NO_FUNCTIONS: ReadonlySet<Value> = new Set();

/** The globals that scripts see, made once for each lane. They cannot change: only KEYS and ARGV do, with each run. */
export class Environment {
  readonly globals = new Table();
  readonly bounds: Bounds;
  readonly interrupt: () => void;
  /** What strings are indexed through. */
  readonly strings: Table;
  readonly takingWords: ReadonlySet<Value>;

  constructor({
    libraries = {},
    interrupt = () => {},
    bounds = {},
    takingWords = NO_FUNCTIONS,
  }: EnvironmentOptions = {}) {
    this.takingWords = takingWords;
    this.bounds = { memoryBytes: SCRIPT_MEMORY_BYTES, stackBytes: SCRIPT_STACK_BYTES, ...bounds };
    this.interrupt = interrupt;
    const load = loadFunctions((source, chunkName) => {
      const options = { chunkName, globals: this.globals, takingWords, hasParameters: false };
      return compileChunk(source, options).main as LuaFunction;
    });
    const all: Record<string, Value> = {
      ...base,
      ...load,
      _VERSION: 'Lua 5.1',
      _G: this.globals,
      math: libraryOf(mathFunctions(new RedisRandom())),
      table: libraryOf(table),
      string: libraryOf(string),
      bit: libraryOf(bit),
      cjson: libraryOf(createCjson(libraryOf)),
      cmsgpack: libraryOf(cmsgpack),
      struct: libraryOf(struct),
      ...libraries,
    };
    for (const [name, value] of Object.entries(all)) {
      this.globals.set(name, value);
      if (value instanceof Table && value !== this.globals) value.readonly = true;
    }
    this.globals.metatable = libraryOf({ __index: missingGlobal });
    this.globals.metatable.readonly = true;
    this.strings = libraryOf({ __index: all.string });
    this.strings.readonly = true;
    this.globals.set('KEYS', new Table());
    this.globals.set('ARGV', new Table());
    this.globals.readonly = true;
  }

  /** Behind `_G`, for scripts that read KEYS there. */
  setParameters(keys: Table, argv: Table): void {
    this.globals.hash.set('KEYS', keys);
    this.globals.hash.set('ARGV', argv);
  }
}

/** A table of functions and constants. */
export function libraryOf(members: Readonly<Record<string, Value>>): Table {
  const library = new Table();
  for (const [name, value] of Object.entries(members)) library.set(name, value);
  return library;
}

function missingGlobal(_: Value, name: Value): never {
  return raise(`Script attempted to access nonexistent global variable '${beforeZero(plainString(name))}'`);
}
