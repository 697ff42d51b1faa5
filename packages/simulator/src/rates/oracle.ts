import { CellKind, cellName } from '@quotadb/rate';

/** A cell: the counter of one identifier in one window. */
export interface Cell {
  readonly key: string;
  readonly windowMs: number;
  readonly startMs: number;
}

export function nameOfCell({ key, windowMs, startMs }: Cell): Uint8Array {
  return cellName(CellKind.rate, windowMs, startMs, Buffer.from(key));
}

/** Knows the cost that every origin admitted in every cell, apart from all stores. */
export class RateOracle {
  readonly cells = new Map<string, Cell>();
  private readonly admitted = new Map<string, Map<string, number>>();

  note(origin: string, cell: Cell, cost: number): void {
    const name = textOf(nameOfCell(cell));
    this.cells.set(name, cell);
    const byOrigin = this.admitted.get(name) ?? new Map<string, number>();
    byOrigin.set(origin, (byOrigin.get(origin) ?? 0) + cost);
    this.admitted.set(name, byOrigin);
  }

  of(origin: string, cell: Cell): number {
    return this.admitted.get(textOf(nameOfCell(cell)))?.get(origin) ?? 0;
  }

  total(cell: Cell): number {
    const byOrigin = this.admitted.get(textOf(nameOfCell(cell))) ?? new Map<string, number>();
    return [...byOrigin.values()].reduce((sum, one) => sum + one, 0);
  }

  find(name: Uint8Array): Cell | undefined {
    return this.cells.get(textOf(name));
  }
}

function textOf(name: Uint8Array): string {
  return Buffer.from(name).toString('latin1');
}
