import type { LuaFunction, Value } from '../values/value.js';

/** The functions, and other fields, of a library by their names. */
export type Library = Readonly<Record<string, LuaFunction | Value>>;

/**
 * Slots of the stack that a function of a library may use in Lua: it bounds how many values it returns, and nesting.
 */
export const MAX_STACK_SLOTS = 8000;
