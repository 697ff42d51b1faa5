import { callFunction, protect } from '../runtime/calls.js';
import { LuaSyntaxError } from '../values/errors.js';
import { numberToString } from '../values/numbers.js';
import { raiseArgumentType, raisePlainly } from '../values/raise.js';
import { running, STRING_BYTES } from '../values/running.js';
import { first, type LuaFunction, type Value, Values } from '../values/value.js';
import { optionalString, stringArgument } from './arguments.js';

/** What the code of a chunk takes, about, and its compilation in turns of a loop. */
const CODE_BYTES = 10_000;
const CODE_BYTES_PER_BYTE = 40;
const TURNS_FOR_COMPILING = 1000;

/** `loadstring` and `load`: code that a script makes while it runs is compiled as the script was. */
export function loadFunctions(
  compile: (source: string, chunkName: string) => LuaFunction,
): Record<string, LuaFunction> {
  const load = (source: string, name: string): Value | Values => {
    running.spend(CODE_BYTES + source.length * CODE_BYTES_PER_BYTE);
    running.turns -= TURNS_FOR_COMPILING;
    try {
      return compile(source, name);
    } catch (error) {
      if (error instanceof LuaSyntaxError) return new Values([undefined, error.message]);
      throw error;
    }
  };
  return {
    loadstring(...list) {
      const source = stringArgument(list, 1);
      return load(source, optionalString(list, 2, source));
    },
    load(...list) {
      const [reader] = list;
      if (typeof reader !== 'function') return raiseArgumentType(1, 'function', reader, list.length);
      const name = optionalString(list, 2, '=(load)');
      // An error of the reader is a result, as one of the source is.
      const read = protect(() => readAll(reader));
      if ('error' in read) return new Values([undefined, read.error.value]);
      return load(first(read.result) as string, name);
    },
  };
}

function readAll(reader: LuaFunction): string {
  let source = '';
  for (;;) {
    const part = first(callFunction(reader));
    if (part === undefined || part === '') return source;
    if (typeof part !== 'string' && typeof part !== 'number') {
      return raisePlainly('reader function must return a string');
    }
    const text = typeof part === 'number' ? numberToString(part) : part;
    running.spend(text.length + STRING_BYTES);
    running.work(1);
    source += text;
  }
}
