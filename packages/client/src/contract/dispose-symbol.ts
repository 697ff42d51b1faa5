/**
 * `await using` calls the method named Symbol.asyncDispose. Node 20, Bun and Deno have that symbol; a runtime without
 * it gets the one that compilers and other libraries agree on. Imported before any class that has such a method.
 */
const symbols = Symbol as { asyncDispose?: symbol };
if (symbols.asyncDispose === undefined) {
  Object.defineProperty(symbols, 'asyncDispose', { value: Symbol.for('Symbol.asyncDispose') });
}

export {};
