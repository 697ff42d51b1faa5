export { SOURCE_BYTES_MAX } from './compile.js';
export {
  Environment,
  type EnvironmentOptions,
  libraryOf,
  SCRIPT_MEMORY_BYTES,
  SCRIPT_STACK_BYTES,
} from './environment.js';
export * from './libraries/arguments.js';
export { plainString, stringOf } from './libraries/to-string.js';
export { callFunction, indexFromLibrary } from './runtime/calls.js';
export { type CompileOptions, compile, type Script } from './script.js';
export { beforeZero } from './values/c-string.js';
export { general } from './values/decimal.js';
export { LuaError, LuaSyntaxError, ScriptAborted } from './values/errors.js';
export { numberToString, stringToNumber } from './values/numbers.js';
export { raise, raiseArgument, raiseArgumentType, raisePlainly, raiseType, raiseValue } from './values/raise.js';
export { type Bounds, running, STRING_BYTES } from './values/running.js';
export { position } from './values/sites.js';
export { Table } from './values/table.js';
export { all, first, type LuaFunction, NONE, pack, prepend, typeName, type Value, Values } from './values/value.js';
export type { Words } from './values/words.js';
