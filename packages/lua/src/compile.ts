import { type Generated, type GenerateOptions, generate } from './generate/generate.js';
import { parse } from './parse/parse.js';
import { shortName } from './values/chunk-name.js';
import { LuaSyntaxError } from './values/errors.js';

/** The largest scripts of queues have 60 kB. A script of this size holds its lane up for about a second, once. */
export const SOURCE_BYTES_MAX = 256 * 1024;

/** The function of a chunk. Throws LuaSyntaxError. */
export function compileChunk(source: string, options: GenerateOptions): Generated {
  const name = shortName(options.chunkName);
  if (source.length > SOURCE_BYTES_MAX) {
    throw new LuaSyntaxError(`${name}:1: a script has at most ${SOURCE_BYTES_MAX} bytes`);
  }
  try {
    return generate(parse(source, name), options);
  } catch (error) {
    // Chains of thousands of operators, which Lua takes but V8 does not; and calls with more arguments than registers.
    if (error instanceof RangeError || error instanceof SyntaxError) {
      throw new LuaSyntaxError(`${name}:1: function or expression too complex`);
    }
    throw error;
  }
}
