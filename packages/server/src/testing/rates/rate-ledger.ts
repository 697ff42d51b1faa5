import { Random } from '@quotadb/engine/testing';
import { CellKind, cellName } from '@quotadb/rate';

/** A window's cell of a key: what regions name alike. */
export interface Cell {
  readonly key: string;
  readonly windowMs: number;
  readonly startMs: number;
}

export function cellNameOf({ key, windowMs, startMs }: Cell): Uint8Array {
  return cellName(CellKind.rate, windowMs, startMs, Buffer.from(key));
}

export function isRateCell(name: Uint8Array): boolean {
  return name[0] === 0x00 && name[1] === 0x51 && name[2] === 0x44 && name[3] === CellKind.rate;
}

/** What every origin has admitted in every cell, kept outside of all stores: what these say is held against it. */
export class RateLedger {
  private readonly admitted = new Map<string, Map<string, number>>();
  readonly cells = new Map<string, Cell>();

  note(origin: string, cell: Cell, cost: number): void {
    const name = nameOf(cell);
    this.cells.set(name, cell);
    const of = this.admitted.get(name) ?? new Map<string, number>();
    of.set(origin, (of.get(origin) ?? 0) + cost);
    this.admitted.set(name, of);
  }

  of(origin: string, cell: Cell): number {
    return this.admitted.get(nameOf(cell))?.get(origin) ?? 0;
  }

  total(cell: Cell): number {
    const of = this.admitted.get(nameOf(cell));
    return of === undefined ? 0 : [...of.values()].reduce((sum, one) => sum + one, 0);
  }

  find(name: Uint8Array): Cell | undefined {
    return this.cells.get(Buffer.from(name).toString('latin1'));
  }
}

function nameOf(cell: Cell): string {
  return Buffer.from(cellNameOf(cell)).toString('latin1');
}

export interface RatePlan {
  readonly seed: number;
  readonly names: readonly string[];
  readonly keys: readonly string[];
  readonly limit: number;
  readonly windowMs: number;
  readonly publishPercent: number;
  readonly delayMs: number;
  readonly isLossy: boolean;
  readonly skewBoundMs: number;
  readonly steps: number;
  readonly spacingMs: number;
}

/** Less than cells are kept longer for: clocks may differ by as much. */
const SKEW_BOUND_MS = 2_000;

export function makeRatePlan(seed: number): RatePlan {
  const random = new Random(seed);
  return {
    seed,
    names: ['ap', 'br', 'ca', 'de'].slice(0, 2 + random.below(3)),
    keys: ['alice', 'bob', 'carol'].slice(0, 1 + random.below(3)),
    limit: random.pick([5, 40, 200]),
    windowMs: random.pick([3_000, 20_000, 60_000, 60_000]),
    publishPercent: random.pick([0, 20, 20, 20, 60, 100]),
    delayMs: random.pick([0.5, 20, 200]),
    isLossy: random.chance(0.4),
    skewBoundMs: random.pick([0, 50, SKEW_BOUND_MS]),
    steps: 30 + random.below(120),
    spacingMs: random.pick([5, 60, 400]),
  };
}
