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
import { all, first, NONE, pack, type Value, Values } from '../values/value.js';
import type { Words } from '../values/words.js';
import { Constants } from './constants.js';
import { SiteMarks } from './frame.js';
import { type ParameterName, Parameters } from './parameters.js';
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
  /** See EnvironmentOptions. */
  readonly takingWords: ReadonlySet<Value>;
}

/** Takes KEYS and ARGV, or nothing of them: see GenerateOptions. */
export type Main = (keys: Words, argv: Words) => Value | Values;

export interface Generated {
  readonly main: Main;
  /** Of its parameters, those that have to be tables. */
  readonly tables: ReadonlySet<ParameterName>;
  /** It may read KEYS and ARGV in the table of globals. */
  readonly usesGlobals: boolean;
}

/** The JavaScript function of a chunk. */
export function generate(tree: FunctionBody, options: GenerateOptions): Generated {
  const { code, constants, marks, tables } = generateCode(tree, options);
  const name = shortName(options.chunkName);
  const chunk: ChunkOfSites = { name, source: options.chunkName, sites: marks.byLine(code) };
  const url = registerChunk(chunk);
  const make = new Function('runtime', 'constants', 'G', 'chunk', `${code}\n//# sourceURL=${url}`);
  const main = make(RUNTIME, constants.values, options.globals, chunk) as Main;
  return { main, tables, usesGlobals: constants.usesGlobals };
}

export interface Code {
  readonly code: string;
  readonly constants: Constants;
  readonly marks: SiteMarks;
  readonly tables: ReadonlySet<ParameterName>;
}

const BOTH: ReadonlySet<ParameterName> = new Set(['KEYS', 'ARGV']);

/** Made anew where KEYS or ARGV turns out to be more than the source of single words. */
export function generateCode(tree: FunctionBody, options: GenerateOptions, tables = new Set<ParameterName>()): Code {
  const parameters = options.hasParameters ? new Parameters(tables) : undefined;
  const made = generateWith(tree, options, parameters);
  const needed = made.constants.usesGlobals ? BOTH : (parameters?.used ?? tables);
  if (parameters === undefined || [...needed].every((name) => tables.has(name))) return { ...made, tables };
  return generateCode(tree, options, new Set([...tables, ...needed]));
}

/** `chunk` is named so that every function of the code keeps it alive: errors look it up. */
function generateWith(
  tree: FunctionBody,
  { globals, hasParameters, takingWords }: GenerateOptions,
  parameters: Parameters | undefined,
): Omit<Code, 'tables'> {
  const marks = new SiteMarks();
  const constants = new Constants(globals, takingWords);
  const body = generateMain({ marks, constants, parameters }, tree);
  const signature = hasParameters ? 'K,A,...V' : '...V';
  const names = constants.values.map((_, place) => `C${place}`);
  const code =
    `'use strict';const {${RUNTIME_NAMES.join(',')}}=runtime;` +
    `${names.length === 0 ? '' : `const [${names.join(',')}]=constants;`}` +
    `return (${signature})=>{if(false)chunk;${body}}`;
  return { code, constants, marks };
}
