import type { Random } from '@quotadb/engine/testing';
import {
  type Allotment,
  type ChangeMark,
  nameOfAllotment,
  type Settlement,
  type TakeAnswer,
  type TakeItem,
} from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';
import { type Held, isOnDisk, type QuotaOracle } from './oracle.js';
import type { QuotaPlan } from './plan.js';
import { itemOf, MAIN, type QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

/** One more for takes from several limits at once. */
export const SECOND = 'bytes';
export const TIMES_TO_LIVE_MS = [200, 1000, 5000];
const WAITS_MS = [0, 0, 300, 2000];
const LONGEST_BURST = 8;

/** A request under an id that its client chose. */
interface Operation {
  readonly id: string;
  process: NodeProcess;
  /** The incarnation that it was asked of. */
  readonly origin: string;
  readonly items: readonly TakeItem[];
  answers: number;
  first: TakeAnswer | undefined;
  /** Of the record that it was done; undefined where it has none. */
  mark: ChangeMark | undefined;
  /** Its process has ended, and the disk held the record then, or perhaps not. */
  isDown: 'no' | 'kept' | 'perhaps';
}

/** Clients that take, reserve and settle in all regions, and report every answer to the oracle. */
export class QuotaClients {
  private readonly cluster: QuotaCluster;
  private readonly oracle: QuotaOracle;
  private readonly operations: Operation[] = [];

  constructor(cluster: QuotaCluster, oracle: QuotaOracle) {
    this.cluster = cluster;
    this.oracle = oracle;
  }

  private get plan(): QuotaPlan {
    return this.cluster.plan;
  }

  takeBurst(process: NodeProcess, random: Random): void {
    for (let burst = 1 + random.below(LONGEST_BURST); burst > 0; burst--)
      this.take(process, [this.item(MAIN, random)], random);
  }

  takeAll(process: NodeProcess, random: Random): void {
    this.take(process, [this.item(MAIN, random), this.item(SECOND, random)], random);
  }

  peek(process: NodeProcess, random: Random): void {
    quotasOf(process).operations.peek(MAIN, itemOf(MAIN, random.pick(this.plan.subjects), 0).subject);
  }

  private item(name: string, random: Random): TakeItem {
    const most = name === MAIN ? random.pick([3, Math.ceil(this.plan.limit / 3)]) : 3;
    return itemOf(name, random.pick(this.plan.subjects), 1 + random.below(most));
  }

  private take(process: NodeProcess, items: readonly TakeItem[], random: Random): void {
    const id = random.chance(0.3) ? this.cluster.newId() : undefined;
    const waitMs = random.pick(WAITS_MS);
    if (id === undefined) {
      this.ask(process, undefined, items, waitMs, (answer) => this.answered(process, items, answer));
      return;
    }
    const operation: Operation = {
      id,
      process,
      origin: process.origin,
      items,
      answers: 0,
      first: undefined,
      mark: undefined,
      isDown: 'no',
    };
    this.operations.push(operation);
    this.askFor(operation, waitMs);
  }

  /** Asked once, and again as if the first answer was lost: the answer stays the same, and nothing more is taken. */
  private askFor(operation: Operation, waitMs: number): void {
    const { process, id, items } = operation;
    const isFresh = this.ask(process, id, items, waitMs, (answer) => {
      const { first, isDown } = operation;
      operation.answers++;
      const isRemembered = isAllowed(first);
      if (isDown !== 'no') {
        if (isAllowed(answer) && 'allotments' in answer && answer.allotments.length === 0) return;
        if (isDown === 'kept')
          this.cluster.failed(`${process.label}: ${id} was done, and is done again after a restart`);
        this.first(operation, answer);
        return;
      }
      if (isRemembered && JSON.stringify(first) !== JSON.stringify(answer))
        this.cluster.failed(`${process.label}: ${id} was answered in two ways`);
      if (isRemembered) return;
      this.first(operation, answer);
    });
    if (!isFresh) this.cluster.failed(`${process.label}: ${id} was taken for another operation`);
  }

  private first(operation: Operation, answer: TakeAnswer): void {
    const { process, items } = operation;
    operation.first = answer;
    operation.isDown = 'no';
    operation.mark = isAllowed(answer) ? quotasOf(process).records.takeLastMark() : undefined;
    this.answered(process, items, answer);
  }

  ended(process: NodeProcess): void {
    for (const operation of this.operations) {
      if (operation.process !== process) continue;
      const isKept = operation.isDown === 'kept' || isOnDisk(process, operation.mark);
      operation.isDown = isKept && isAllowed(operation.first) ? 'kept' : 'perhaps';
      // Later versions of the next process say nothing about it.
      if (!isKept) operation.mark = undefined;
    }
  }

  /** Clients repeat their requests to the next process of the same node. */
  restarted(process: NodeProcess): void {
    for (const operation of this.operations)
      if (operation.process.node === process.node && operation.origin === process.origin) operation.process = process;
  }

  ask(
    process: NodeProcess,
    id: string | undefined,
    items: readonly TakeItem[],
    waitMs: number,
    done: (answer: TakeAnswer) => void,
  ): boolean {
    return quotasOf(process).take(id, { items, waitMs }, (answer) => {
      if (!process.isOver) done(answer);
    });
  }

  answered(process: NodeProcess, items: readonly TakeItem[], answer: TakeAnswer): void {
    this.oracle.pass();
    if ('error' in answer || !answer.isAllowed) return;
    for (const [index, allotment] of answer.allotments.entries()) {
      this.cluster.said(`${process.label} allows ${items[index].cost} of ${nameOfAllotment(allotment)}`);
      this.oracle.taken(process, allotment, items[index].cost);
      this.cluster.checkCalendar(process, allotment);
    }
  }

  retry(process: NodeProcess, random: Random): void {
    const mine = this.operations.filter((operation) => operation.process === process);
    if (mine.length === 0) return;
    const operation = random.pick(mine);
    const { id, items, answers, first, isDown } = operation;
    if (random.chance(0.2)) {
      const changed = [{ ...items[0], cost: items[0].cost + 1 }];
      // The id of a denied operation is free again: this would be a new operation.
      const isKnown = isDown === 'no' ? answers === 0 || isAllowed(first) : isDown === 'kept';
      if (isKnown && this.ask(process, id, changed, 0, () => {}))
        this.cluster.failed(`${process.label}: ${id} was used for two operations`);
      return;
    }
    this.askFor(operation, random.pick(WAITS_MS));
  }

  reserve(process: NodeProcess, random: Random): void {
    const item = this.item(MAIN, random);
    const ttlMs = random.pick(TIMES_TO_LIVE_MS);
    const quotas = quotasOf(process);
    quotas.guard(() =>
      quotas.reservations.reserve({ item, ttlMs, waitMs: random.pick(WAITS_MS) }, (reserved) => {
        if (process.isOver || 'error' in reserved || !reserved.isAllowed) return;
        const [allotment] = quotas.operations.answering as readonly Allotment[];
        const { id } = reserved;
        this.oracle.pass();
        this.cluster.said(
          `${process.label} reserves ${item.cost} of ${nameOfAllotment(allotment)} as ${id} for ${ttlMs} ms`,
        );
        const mark = process.disk && quotas.records.takeLastMark();
        this.oracle.reserved(process, { id, allotment, cost: item.cost, mark }, ttlMs);
      }),
    );
  }

  private heldBy(process: NodeProcess, random: Random): Held | undefined {
    const mine = [...this.oracle.held.values()].filter((held) => held.process === process);
    return mine.length === 0 ? undefined : random.pick(mine);
  }

  commit(process: NodeProcess, random: Random): void {
    const held = this.heldBy(process, random);
    if (held === undefined) return;
    const { id, cost, state } = held;
    const actual = random.pick([0, random.below(cost + 1), cost, cost + 1 + random.below(cost)]);
    if (state === 'committing') return;
    const quotas = quotasOf(process);
    let isAnswered = false;
    let hasBegun = false;
    const begin = () => {
      if (!hasBegun) this.oracle.committing(held, actual);
      hasBegun = true;
    };
    quotas.guard(() =>
      quotas.reservations.commit(id, actual, (settlement, moreFrom) => {
        if (process.isOver) return;
        isAnswered = true;
        if (!this.isExpected(held, state, actual, settlement)) return;
        begin();
        this.cluster.said(`${process.label} commits ${id} with ${actual} for ${cost}: ${JSON.stringify(settlement)}`);
        this.oracle.committed(held, settlement, moreFrom ?? held.allotment);
      }),
    );
    // It waits for more tokens: from now on it is settled, and cannot lapse.
    if (!isAnswered && state !== 'settled') begin();
  }

  /** Whether a commit has settled a reservation just now. */
  private isExpected(held: Held, state: Held['state'], actual: number, settlement: Settlement): boolean {
    const { id, process } = held;
    const { label } = process;
    if ('error' in settlement) {
      if (state === 'held') this.cluster.failed(`${label}: ${id} cannot be committed: ${settlement.error}`);
      return false;
    }
    if (state === 'settled') {
      const isSame = held.settlement === undefined || JSON.stringify(settlement) === JSON.stringify(held.settlement);
      if (actual !== held.actual || !isSame) this.cluster.failed(`${label}: ${id} was settled twice`);
      return false;
    }
    if (settlement.charged + settlement.uncharged !== actual)
      this.cluster.failed(`${label}: ${id} used ${actual}, and was settled as ${JSON.stringify(settlement)}`);
    return true;
  }

  cancel(process: NodeProcess, random: Random): void {
    const held = this.heldBy(process, random);
    if (held === undefined) return;
    const { state, id } = held;
    const { label } = process;
    const isCancelled = quotasOf(process).reservations.cancel(id);
    this.cluster.said(`${label} cancels ${id}: ${isCancelled}`);
    if (isCancelled && (state === 'settled' || state === 'committing'))
      this.cluster.failed(`${label}: ${id} was settled, and then cancelled`);
    else if (!isCancelled && state === 'held') this.cluster.failed(`${label}: ${id} cannot be cancelled`);
    else if (isCancelled) this.oracle.cancelled(held);
  }
}

function isAllowed(answer: TakeAnswer | undefined): boolean {
  return answer !== undefined && 'isAllowed' in answer && answer.isAllowed;
}
