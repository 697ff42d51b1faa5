import { type Cell, CellKey, nameOfCell, type Policy, windowEndMs } from '@quotadb/quota';
import type { NodeProcess } from '../simulated-node.js';
import type { QuotaOracle } from './quota-oracle.js';
import type { QuotaParts } from './quota-parts.js';

/** A reservation that lapsed may still be there for so long: its time goes by in steps, and ticks come when they come. */
export const LAPSE_MS = 1000;

/** What a process has of a cell, by its own books. */
export interface Holding {
  readonly rights: number;
  /** Set aside by this origin, ever. */
  readonly marked: number;
  readonly pocket: number;
  /** Marked, and on its way to the disk. */
  readonly pending: number;
  /** In reservations that are not settled. */
  readonly reserved: number;
}

const key = new CellKey();

export function holdingOf({ engine }: NodeProcess, quotas: QuotaParts, policy: Policy, cell: Cell): Holding {
  const { keeper, reservations } = quotas;
  const { input, length } = key.marksOf(cell);
  engine.openAny(input, 0, length);
  const marked = engine.ownAdded - engine.ownTaken;
  engine.close();
  const name = nameOfCell(cell);
  // Private to the keeper; nobody but a check has a use for it.
  const states = Reflect.get(keeper, 'cells') as ReadonlyMap<string, { marked: { amount: number } | undefined }>;
  return {
    rights: keeper.ledger.rights(policy, cell),
    marked,
    pocket: keeper.ledger.balance(cell),
    pending: states.get(name)?.marked?.amount ?? 0,
    reserved: reservations.outstanding().get(name) ?? 0,
  };
}

/**
 * Tokens are conserved. In every process, of every cell whose window goes on,
 *
 *   marked = in the pocket + on the way to it + in reservations + what its clients have for good + wasted
 *
 * where only the end of a process wastes anything. So nothing comes back twice, and nothing is lost on the way. And what all
 * processes hold together is at most the limit, whatever was granted to whom.
 */
export class QuotaChecks {
  private readonly oracle: QuotaOracle;
  /** By process and cell: what earlier processes of its origin have wasted. */
  private readonly wasted = new Map<NodeProcess, Map<string, number>>();

  constructor(oracle: QuotaOracle) {
    this.oracle = oracle;
  }

  find(processes: readonly NodeProcess[]): string[] {
    const faults: string[] = [];
    for (const process of processes) faults.push(...this.findLapsed(process));
    for (const { cell } of this.oracle.cells.values()) {
      let held = 0;
      for (const process of processes) {
        const { quotas, engine } = process;
        const policy = quotas?.book.numbered(cell.policy);
        if (quotas === undefined || policy === undefined || engine.nowMs >= windowEndMs(policy, cell.window)) continue;
        const holding = holdingOf(process, quotas, policy, cell);
        held += holding.rights + holding.marked;
        faults.push(...this.findUnbalanced(process, cell, holding));
      }
      const limit = this.oracle.limitOf(cell);
      if (held > limit) faults.push(`cell ${nameOfCell(cell)}: ${held} are held of ${limit}`);
    }
    return faults;
  }

  /** What the processes that run now have wasted of a cell, with all that their origins did before. */
  wastedOf(processes: readonly NodeProcess[], cell: Cell): number {
    return processes.reduce((sum, process) => sum + (this.wasted.get(process)?.get(nameOfCell(cell)) ?? 0), 0);
  }

  private findUnbalanced(process: NodeProcess, cell: Cell, holding: Holding): string[] {
    const { marked, pocket, pending, reserved } = holding;
    const name = nameOfCell(cell);
    const settled = this.oracle.settledOf(cell, process.origin);
    const rest = marked - pocket - pending - reserved - settled;
    let known = this.wasted.get(process);
    if (known === undefined) {
      known = new Map();
      this.wasted.set(process, known);
    }
    let expected = known.get(name);
    if (expected === undefined) {
      // What a process finds there when it begins was wasted by the one before, and is never below 0.
      expected = process.node.processesTotal > 1 ? Math.max(0, rest) : 0;
      known.set(name, expected);
    }
    if (rest === expected) return [];
    // Without memory for a pocket, what was set aside for it is lost with the window.
    if (process.wasFull && rest > expected) {
      known.set(name, rest);
      return [];
    }
    const parts = `marked ${marked}, pocket ${pocket}, on the way ${pending}, reserved ${reserved}, spent ${settled}, wasted ${expected}`;
    return [`${process.label}, cell ${name}: tokens are not conserved (${parts})`];
  }

  /** What is reserved is there until it is due, and no longer. */
  private findLapsed(process: NodeProcess): string[] {
    const faults: string[] = [];
    const nowMs = process.monotonicMs();
    const expected = new Map<string, number>();
    const optional = new Map<string, number>();
    for (const held of this.oracle.held.values()) {
      if (held.process !== process || (held.state !== 'held' && held.state !== 'lapsed')) continue;
      const name = nameOfCell(held.cell);
      if (held.dueMs > nowMs) expected.set(name, (expected.get(name) ?? 0) + held.cost);
      else if (held.dueMs + LAPSE_MS > nowMs || process.isPaused)
        optional.set(name, (optional.get(name) ?? 0) + held.cost);
    }
    const outstanding = process.quotas?.reservations.outstanding() ?? new Map<string, number>();
    for (const name of new Set([...expected.keys(), ...outstanding.keys()])) {
      const least = expected.get(name) ?? 0;
      const most = least + (optional.get(name) ?? 0);
      const is = outstanding.get(name) ?? 0;
      if (is < least || is > most)
        faults.push(`${process.label}, cell ${name}: ${is} are reserved, and it should be ${least} to ${most}`);
    }
    return faults;
  }
}
