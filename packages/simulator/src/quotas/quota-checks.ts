import { type Allotment, AllotmentKey, nameOfAllotment, type Policy, windowEndMs } from '@quotadb/quota';
import type { NodeProcess } from '../simulated-node.js';
import type { QuotaOracle } from './quota-oracle.js';
import type { QuotaParts } from './quota-parts.js';

/** A reservation that lapsed may still be there for so long: its time goes by in steps, and ticks come when they come. */
export const LAPSE_MS = 1000;

/** What a process has of an allotment, by its own books. */
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

const key = new AllotmentKey();

export function holdingOf({ engine }: NodeProcess, quotas: QuotaParts, policy: Policy, allotment: Allotment): Holding {
  const { broker, reservations } = quotas;
  const { input, length } = key.marksOf(allotment);
  engine.openAny(input, 0, length);
  const marked = engine.ownAdded - engine.ownTaken;
  engine.close();
  const name = nameOfAllotment(allotment);
  // Private to the broker; nobody but a check has a use for it.
  const states = Reflect.get(broker, 'allotments') as ReadonlyMap<string, { marked: { amount: number } | undefined }>;
  return {
    rights: broker.ledger.rights(policy, allotment),
    marked,
    pocket: broker.ledger.balance(allotment),
    pending: states.get(name)?.marked?.amount ?? 0,
    reserved: reservations.outstanding().get(name) ?? 0,
  };
}

/**
 * Tokens are conserved. In every process, of every allotment whose window goes on,
 *
 *   marked = in the pocket + on the way to it + in reservations + what its clients have for good + wasted
 *
 * where only the end of a process wastes anything. So nothing comes back twice, and nothing is lost on the way. And what all
 * processes hold together is at most the limit, whatever was granted to whom.
 */
export class QuotaChecks {
  private readonly oracle: QuotaOracle;
  /** By process and allotment: what earlier processes of its origin have wasted. */
  private readonly wasted = new Map<NodeProcess, Map<string, number>>();

  constructor(oracle: QuotaOracle) {
    this.oracle = oracle;
  }

  find(processes: readonly NodeProcess[]): string[] {
    const faults: string[] = [];
    for (const process of processes) faults.push(...this.findLapsed(process));
    for (const { allotment } of this.oracle.allotments.values()) {
      let held = 0;
      for (const process of processes) {
        const { quotas, engine } = process;
        const policy = quotas?.book.numbered(allotment.policy);
        if (quotas === undefined || policy === undefined || engine.nowMs >= windowEndMs(policy, allotment.window))
          continue;
        const holding = holdingOf(process, quotas, policy, allotment);
        held += holding.rights + holding.marked;
        faults.push(...this.findUnbalanced(process, allotment, holding));
      }
      const limit = this.oracle.limitOf(allotment);
      if (held > limit) faults.push(`allotment ${nameOfAllotment(allotment)}: ${held} are held of ${limit}`);
    }
    return faults;
  }

  /** What the processes that run now have wasted of an allotment, with all that their origins did before. */
  wastedOf(processes: readonly NodeProcess[], allotment: Allotment): number {
    return processes.reduce(
      (sum, process) => sum + (this.wasted.get(process)?.get(nameOfAllotment(allotment)) ?? 0),
      0,
    );
  }

  private findUnbalanced(process: NodeProcess, allotment: Allotment, holding: Holding): string[] {
    const { marked, pocket, pending, reserved } = holding;
    const name = nameOfAllotment(allotment);
    const settled = this.oracle.settledOf(allotment, process.origin);
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
    return [`${process.label}, allotment ${name}: tokens are not conserved (${parts})`];
  }

  /** What is reserved is there until it is due, and no longer. */
  private findLapsed(process: NodeProcess): string[] {
    const faults: string[] = [];
    const nowMs = process.monotonicMs();
    const expected = new Map<string, number>();
    const optional = new Map<string, number>();
    for (const held of this.oracle.held.values()) {
      if (held.process !== process || (held.state !== 'held' && held.state !== 'lapsed')) continue;
      const name = nameOfAllotment(held.allotment);
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
        faults.push(`${process.label}, allotment ${name}: ${is} are reserved, and it should be ${least} to ${most}`);
    }
    return faults;
  }
}
