import { raise } from '../values/raise.js';
import { running } from '../values/running.js';
import type { Table } from '../values/table.js';
import type { Value } from '../values/value.js';

type IsLess = (left: Value, right: Value) => boolean;

/** auxsort of ltablib.c: the same comparisons in the same order, also where the order function is none. */
export function sort(table: Table, isLess: IsLess): void {
  sortRange(table, 1, table.length, isLess);
}

function sortRange(table: Table, from: number, to: number, isLess: IsLess): void {
  let [low, up] = [from, to];
  while (low < up) {
    if (--running.turns < 0) running.interrupt();
    swapIfLess(table, up, low, isLess);
    if (up - low === 1) return;
    const middle = Math.floor((low + up) / 2);
    if (!swapIfLess(table, middle, low, isLess)) swapIfLess(table, up, middle, isLess);
    if (up - low === 2) return;
    const pivot = table.get(middle);
    swap(table, middle, up - 1);
    const split = partition(table, low, up, pivot, isLess);
    swap(table, up - 1, split);
    if (split - low < up - split) {
      sortRange(table, low, split - 1, isLess);
      low = split + 1;
    } else {
      sortRange(table, split + 1, up, isLess);
      up = split - 1;
    }
  }
}

function partition(table: Table, low: number, up: number, pivot: Value, isLess: IsLess): number {
  let left = low;
  let right = up - 1;
  for (;;) {
    while (isLess(table.get(++left), pivot)) {
      if (left > up) raise('invalid order function for sorting');
    }
    while (isLess(pivot, table.get(--right))) {
      if (right < low) raise('invalid order function for sorting');
    }
    if (right < left) return left;
    swap(table, left, right);
  }
}

function swapIfLess(table: Table, first: number, second: number, isLess: IsLess): boolean {
  if (!isLess(table.get(first), table.get(second))) return false;
  swap(table, first, second);
  return true;
}

function swap(table: Table, first: number, second: number): void {
  const kept = table.get(first);
  table.set(first, table.get(second));
  table.set(second, kept);
}
