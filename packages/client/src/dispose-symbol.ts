/**
 * `await using` looks for a method by the name of Symbol.asyncDispose. Node 20, Bun and Deno have the symbol; where a runtime
 * has none, this is the one that compilers and other libraries agree on. Imported before any class that has such a method.
 */
const symbols = Symbol as { asyncDispose?: symbol };
if (symbols.asyncDispose === undefined) {
  Object.defineProperty(symbols, 'asyncDispose', { value: Symbol.for('Symbol.asyncDispose') });
}

export {};
