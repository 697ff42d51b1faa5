import { raiseArgument, raiseArgumentType } from '../values/raise.js';
import type { Table } from '../values/table.js';
import type { Value } from '../values/value.js';
import { checkInt, checkNumber, checkString } from './checks.js';

/** Checks of arguments, as lauxlib.c has them. `list` is all that the function was given, `number` counts from 1. */
export function tableArgument(list: readonly Value[], number: number): Table {
  const value = list[number - 1];
  return typeof value === 'object' ? value : raiseArgumentType(number, 'table', value, list.length);
}

export function numberArgument(list: readonly Value[], number: number): number {
  return checkNumber(list[number - 1], number, list.length);
}

/** Cut to a whole number of 64 bits, of which the low 32 are taken. luaL_checkint. */
export function intArgument(list: readonly Value[], number: number): number {
  return checkInt(list[number - 1], number, list.length);
}

export function optionalInt(list: readonly Value[], number: number, otherwise: number): number {
  return list[number - 1] === undefined ? otherwise : intArgument(list, number);
}

/** A string; a number counts as one. */
export function stringArgument(list: readonly Value[], number: number): string {
  return checkString(list[number - 1], number, list.length);
}

export function optionalString(list: readonly Value[], number: number, otherwise: string): string {
  return list[number - 1] === undefined ? otherwise : stringArgument(list, number);
}

export function anyArgument(list: readonly Value[], number: number): Value {
  return number > list.length ? raiseArgument(number, 'value expected') : list[number - 1];
}
