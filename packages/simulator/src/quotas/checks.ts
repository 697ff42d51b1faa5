import { type Allotment, AllotmentKey, nameOfAllotment, type Policy, windowEndMs } from '@quotadb/quota';
import { nameOfOrigin } from '@quotadb/replication';
import type { NodeProcess } from '../world/process.js';
import { type QuotaOracle, returningOf } from './oracle.js';
import { quotasOf } from './quota-service.js';

/**
 * How much longer than its time a reservation may stay: deadlines are kept in steps, and processed with the next tick.
 */
export const LAPSE_MS = 1000;

/** The tokens of an allotment in one process, by its own books. */
interface Holding {
  readonly rights: number;
  /** Set aside by this origin, ever. */
  readonly marked: number;
  readonly balance: number;
  /** Marked, or not reserved any more, and not on disk yet. */
  readonly pending: number;
  /** In reservations that are not settled. */
  readonly reserved: number;
}

interface AllotmentState {
  readonly marked: { readonly amount: number } | undefined;
}

const key = new AllotmentKey();

function holdingOf(process: NodeProcess, policy: Policy, allotment: Allotment): Holding {
  const { engine } = process;
  const { broker, reservations } = quotasOf(process);
  const { input, length } = key.marksOf(allotment);
  engine.openAny(input, 0, length);
  const marked = engine.ownAdded - engine.ownTaken;
  engine.close();
  const name = nameOfAllotment(allotment);
  // Private to the broker: only this check needs it.
  const states = Reflect.get(broker, 'allotments') as ReadonlyMap<string, AllotmentState>;
  const state = states.get(name);
  return {
    rights: broker.ledger.rights(policy, allotment),
    marked,
    balance: broker.ledger.balance(allotment),
    pending: (state?.marked?.amount ?? 0) + returningOf(process, allotment),
    reserved: reservations.outstanding().get(name) ?? 0,
  };
}

/**
 * Tokens are conserved. In every process, for every allotment whose window is not over,
 *
 *   marked = local balance + pending + in reservations + spent by its clients + wasted
 *
 * where only the end of a process wastes tokens. So no token comes back twice, and none is lost on the way. All
 * processes together hold at most the limit.
 */
export class QuotaChecks {
  private readonly oracle: QuotaOracle;
  /** By process and allotment: the tokens that earlier processes of its origin wasted. */
  private readonly wasted = new Map<NodeProcess, Map<string, number>>();

  constructor(oracle: QuotaOracle) {
    this.oracle = oracle;
  }

  find(processes: readonly NodeProcess[]): string[] {
    const faults: string[] = [];
    for (const process of processes) faults.push(...this.findLapsed(process), ...this.findForged(process));
    for (const { allotment, inherited } of this.oracle.allotments.values()) {
      let held = [...inherited.values()].reduce((sum, marked) => sum + marked, 0);
      for (const process of processes) {
        const policy = quotasOf(process).book.numbered(allotment.policy);
        if (policy === undefined || process.engine.nowMs >= windowEndMs(policy, allotment.window)) continue;
        const holding = holdingOf(process, policy, allotment);
        held += holding.rights + holding.marked;
        faults.push(...this.findUnbalanced(process, allotment, holding));
      }
      const limit = this.oracle.limitOf(allotment) + this.oracle.admissibleOf(allotment);
      if (held > limit) faults.push(`allotment ${nameOfAllotment(allotment)}: ${held} are held of ${limit}`);
    }
    return faults;
  }

  /** A region has no policies but those that the home has defined, and has granted tokens to no one who never was. */
  private findForged(process: NodeProcess): string[] {
    const { book } = quotasOf(process);
    const origins = process.node.cluster.allNodes.flatMap((node) => node.allOrigins.map(nameOfOrigin));
    if (!book.grantees.all().every((origin) => origins.includes(nameOfOrigin(origin))))
      return [`${process.label} has granted tokens to an incarnation that never was`];
    return book
      .list()
      .filter(({ number, limit }) => limit > this.oracle.highestOf(number))
      .map(({ name, limit }) => `${process.label} has a limit of ${limit} for ${name}, which the home never defined`);
  }

  /** The tokens of an allotment that the origins of these processes have wasted so far. */
  wastedOf(processes: readonly NodeProcess[], allotment: Allotment): number {
    return processes.reduce(
      (sum, process) => sum + (this.wasted.get(process)?.get(nameOfAllotment(allotment)) ?? 0),
      0,
    );
  }

  /** Whether one process has granted tokens that the other has not received yet. */
  isUnderWay(processes: readonly NodeProcess[], allotment: Allotment): boolean {
    return processes.some((to) => {
      const { input, length } = key.grantsTo(allotment, to.node.origin);
      let granted = 0;
      for (const { engine } of processes) {
        engine.openAny(input, 0, length);
        granted += engine.ownAdded;
        engine.close();
      }
      to.engine.openAny(input, 0, length);
      const received = to.engine.valueHigh * 2 ** 32 + (to.engine.valueLow >>> 0);
      to.engine.close();
      return granted > received;
    });
  }

  /** Whether all processes know the same marks of an allotment. */
  isHeard(processes: readonly NodeProcess[], allotment: Allotment): boolean {
    const known = processes.map(({ engine }) => {
      const { input, length } = key.marksOf(allotment);
      engine.openAny(input, 0, length);
      const marked = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
      engine.close();
      return marked;
    });
    return new Set(known).size <= 1;
  }

  private findUnbalanced(process: NodeProcess, allotment: Allotment, holding: Holding): string[] {
    const { marked, balance, pending, reserved } = holding;
    const name = nameOfAllotment(allotment);
    const settled = this.oracle.settledOf(allotment, process.origin);
    const rest = marked - balance - pending - reserved - settled;
    const known = this.wasted.get(process) ?? new Map<string, number>();
    this.wasted.set(process, known);
    const unanswered = this.oracle.unansweredOf(process, allotment);
    let expected = known.get(name);
    if (expected === undefined) {
      // A commit that is under way may have taken tokens of it already, or not yet.
      if (unanswered > 0) return [];
      // The difference that a process begins with was wasted by the one before it, and is never below 0.
      expected = process.node.processesTotal > 1 ? Math.max(0, rest) : 0;
      known.set(name, expected);
    }
    if (rest === expected) return [];
    // A commit takes more tokens than were reserved, and is answered when the disk holds it.
    if (rest > expected && rest <= expected + unanswered) return [];
    // Without memory for a local balance, the tokens that were set aside for it are lost with the window.
    if (process.wasFull && rest > expected) {
      known.set(name, rest);
      return [];
    }
    const parts = [
      `marked ${marked}, local balance ${balance}, pending ${pending}`,
      `reserved ${reserved}, spent ${settled}, wasted ${expected}`,
    ].join(', ');
    return [`${process.label}, allotment ${name}: tokens are not conserved (${parts})`];
  }

  /** A reservation is there until it is due, and no longer. */
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
    const outstanding = quotasOf(process).reservations.outstanding();
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
