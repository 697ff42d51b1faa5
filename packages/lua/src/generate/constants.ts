import { Table } from '../values/table.js';
import type { Value } from '../values/value.js';

/**
 * Values of readonly tables that a chunk uses by name. Globals and libraries cannot change, so `redis.call` is one
 * constant, looked up when the chunk is compiled.
 */
export class Constants {
  readonly values: Value[] = [];
  readonly #globals: Table;
  readonly #takingWords: ReadonlySet<Value>;
  readonly #names = new Map<Value, string>();

  constructor(globals: Table, takingWords: ReadonlySet<Value>) {
    this.#globals = globals;
    this.#takingWords = takingWords;
  }

  /** Names through which a script reaches the table of globals itself, and so KEYS and ARGV in it. */
  usesGlobals = false;

  /** The name of the constant that a global is; undefined if there is no such global. */
  global(name: string): string | undefined {
    if (name === '_G' || name === 'load' || name === 'loadstring') this.usesGlobals = true;
    const value = this.#globals.hash.get(name);
    return value === undefined ? undefined : this.#nameOf(value);
  }

  /** The name of the constant `library.field`; undefined if it has to be looked up in each run. */
  field(library: string, field: string): string | undefined {
    const table = this.#globals.hash.get(library);
    if (!(table instanceof Table) || !table.readonly) return undefined;
    const value = table.hash.get(field);
    return value === undefined || table === this.#globals ? undefined : this.#nameOf(value);
  }

  #nameOf(value: Value): string {
    let name = this.#names.get(value);
    if (name === undefined) {
      this.values.push(value);
      name = `C${this.values.length - 1}`;
      this.#names.set(value, name);
    }
    return name;
  }

  /** Which names hold functions: they are called without a look. */
  isFunction(name: string): boolean {
    return typeof this.values[Number(name.slice(1))] === 'function';
  }

  /** Which take words of KEYS and ARGV that are no strings yet. */
  takesWords(name: string): boolean {
    return this.#takingWords.has(this.values[Number(name.slice(1))]);
  }
}
