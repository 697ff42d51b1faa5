import { raise, raiseArgumentType, raisePlainly } from '../values/raise.js';
import { NOT_A_KEY, Table } from '../values/table.js';
import { NONE, type Value, Values } from '../values/value.js';
import { toNumber } from './arithmetic.js';

/** The start, limit or step of a numeric `for`. */
export function forNumber(value: Value, what: string): number {
  return toNumber(value) ?? raise(`'for' ${what} must be a number`);
}

/** `next`, which `pairs` returns. */
export function next(...list: Value[]): Value | Values {
  const [table, key] = list;
  if (typeof table !== 'object') return raiseArgumentType(1, 'table', table, list.length);
  const found = table.nextKey(key);
  if (found === NOT_A_KEY) return raisePlainly("invalid key to 'next'");
  return found === undefined ? undefined : new Values([found, table.get(found)]);
}

/** What `ipairs` returns. */
export function nextOfArray(table: Value, place: Value): Value | Values {
  if (typeof table !== 'object' || typeof place !== 'number') return NONE;
  const value = table.get(place + 1);
  return value === undefined ? NONE : new Values([place + 1, value]);
}

/** A `for … in pairs(t)` or `ipairs(t)` without a call for each turn. */
export interface Iteration {
  key: Value;
  value: Value;
  step(): boolean;
}

export function iterationOf(step: Value, state: Value, control: Value): Iteration | undefined {
  if (!(state instanceof Table)) return undefined;
  if (step === next && control === undefined) return new Pairs(state);
  return step === nextOfArray && control === 0 ? new ArrayItems(state) : undefined;
}

class ArrayItems implements Iteration {
  readonly #table: Table;
  key = 0;
  value: Value;

  constructor(table: Table) {
    this.#table = table;
  }

  step(): boolean {
    this.key++;
    this.value = this.#table.get(this.key);
    return this.value !== undefined;
  }
}

class Pairs implements Iteration {
  readonly #table: Table;
  readonly #hash: Map<Value, Value>;
  #keys: Iterator<Value> | undefined;
  #slot = 0;
  key: Value;
  value: Value;

  constructor(table: Table) {
    this.#table = table;
    this.#hash = table.hash;
  }

  step(): boolean {
    const { array } = this.#table;
    while (this.#slot < array.length) {
      this.value = array[this.#slot++];
      this.key = this.#slot;
      if (this.value !== undefined) return true;
    }
    // New keys during a traversal, which Lua leaves undefined, may be passed over here; it ends all the same.
    this.#keys ??= this.#hash.keys();
    for (;;) {
      const step = this.#keys.next();
      if (step.done === true) return false;
      this.key = step.value;
      this.value = this.#table.get(this.key);
      if (this.value !== undefined) return true;
    }
  }
}
