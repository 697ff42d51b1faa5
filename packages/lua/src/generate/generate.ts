import type { FunctionBody } from '../parse/syntax.js';
import * as arithmetic from '../runtime/arithmetic.js';
import { apply, callable, overflow } from '../runtime/calls.js';
import { equal, lessOrEqual, lessThan } from '../runtime/comparison.js';
import { forNumber, iterationOf } from '../runtime/loops.js';
import { index, setIndex } from '../runtime/metatables.js';
import { concat, concatAll, lengthOf } from '../runtime/strings.js';
import { argOf, listOf, makeTable, setRest } from '../runtime/tables.js';
import { shortName } from '../values/chunk-name.js';
import { nest } from '../values/nesting.js';
import { CLOSURE_BYTES, running } from '../values/running.js';
import { type Chunk as ChunkOfSites, registerChunk } from '../values/sites.js';
import { Table } from '../values/table.js';
import { all, first, type LuaFunction, NONE, pack, Values } from '../values/value.js';
import { Constants } from './constants.js';
import { SiteMarks } from './frame.js';
import { generateMain } from './statements.js';

const { add, subtract, multiply, divide, mod, pow, negate } = arithmetic;

/** All that generated code can name beside its own variables. */
const RUNTIME = {
  ...{ Table, Values, NONE, CLOSURE_BYTES, running, all, first, pack },
  ...{ add, subtract, multiply, divide, mod, pow, negate, equal, lessThan, lessOrEqual },
  ...{ apply, callable, nest, overflow, forNumber, iterationOf, index, setIndex, concat, concatAll, lengthOf },
  ...{ argOf, listOf, makeTable, setRest },
};

export const RUNTIME_NAMES: readonly string[] = Object.keys(RUNTIME);

export interface GenerateOptions {
  /** As Lua has it: `@user_script`. */
  readonly chunkName: string;
  readonly globals: Table;
  /** The function takes KEYS and ARGV first. */
  readonly hasParameters: boolean;
}

export interface Generated {
  readonly main: LuaFunction;
  /** It may read KEYS and ARGV in the table of globals. */
  readonly usesGlobals: boolean;
}

/** The JavaScript function of a chunk. */
export function generate(tree: FunctionBody, options: GenerateOptions): Generated {
  const { code, constants, marks } = generateCode(tree, options);
  const name = shortName(options.chunkName);
  const chunk: ChunkOfSites = { name, source: options.chunkName, sites: marks.byLine(code) };
  const url = registerChunk(chunk);
  const make = new Function('runtime', 'constants', 'G', 'chunk', `${code}\n//# sourceURL=${url}`);
  const main = make(RUNTIME, constants.values, options.globals, chunk) as LuaFunction;
  return { main, usesGlobals: constants.usesGlobals };
}

export interface Code {
  readonly code: string;
  readonly constants: Constants;
  readonly marks: SiteMarks;
}

/** `chunk` is named so that every function of the code keeps it alive: errors look it up. */
export function generateCode(tree: FunctionBody, { globals, hasParameters }: GenerateOptions): Code {
  const marks = new SiteMarks();
  const constants = new Constants(globals);
  const body = generateMain({ marks, constants, hasParameters }, tree);
  const parameters = hasParameters ? 'K,A,...V' : '...V';
  const names = constants.values.map((_, place) => `C${place}`);
  const code =
    `'use strict';const {${RUNTIME_NAMES.join(',')}}=runtime;` +
    `${names.length === 0 ? '' : `const [${names.join(',')}]=constants;`}` +
    `return (${parameters})=>{if(false)chunk;${body}}`;
  return { code, constants, marks };
}
