import type { Client } from 'pg';
import { CountError } from '../../domain/count-error.js';
import { applyPlainGroups } from './apply-groups.js';
import { applyKeyedGroups } from './apply-keyed-groups.js';
import { whichAreLocked } from './apply-runs.js';
import { LASTING_CONFLICTS, LOCKED_ITEM_PAUSE_MS } from './bounds.js';
import type { ChangeQueue, Group, GroupedWrite } from './change-queue.js';
import { type Database, orGiveUp } from './database.js';
import { classifyFailure, type Failure, isLockTimeout, isWrongServer } from './failure.js';
import { type CountsObserver, reportWrite } from './observer.js';
import { pauseMs } from './pause.js';
import { failExpired, failObstructed, type PendingChange } from './pending-change.js';
import { alone } from './statement.js';
import { NotCommittedError } from './transaction.js';

export interface WriterConnectionOptions {
  readonly database: Database;
  readonly queue: ChangeQueue;
  /** Whether waiting changes should be sent now, asked by a connection that has nothing in flight. */
  readonly isWorthSending: () => boolean;
  readonly take: () => GroupedWrite | undefined;
  readonly onTrouble: (error: unknown) => void;
  readonly observer: CountsObserver | undefined;
}

/** One connection that sends writes from the queue to the database, one at a time, and survives every failure. */
export class WriterConnection {
  readonly #database: Database;
  readonly #queue: ChangeQueue;
  readonly #onTrouble: (error: unknown) => void;
  readonly #isWorthSending: () => boolean;
  readonly #take: () => GroupedWrite | undefined;
  readonly #observer: CountsObserver | undefined;
  #client: Client | undefined;
  #failures = 0;
  #isTroubleReported = false;
  #isSending = false;
  #draining: Promise<void> | undefined;

  constructor({ database, queue, isWorthSending, take, onTrouble, observer }: WriterConnectionOptions) {
    this.#database = database;
    this.#queue = queue;
    this.#isWorthSending = isWorthSending;
    this.#take = take;
    this.#onTrouble = onTrouble;
    this.#observer = observer;
  }

  get isIdle(): boolean {
    return this.#draining === undefined;
  }

  /** A write is out, or waits for a connection to be sent again on. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** Sends a write, and further ones until there is nothing that should be sent now. */
  drain(): Promise<void> {
    this.#draining ??= this.#sendAll().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async close(): Promise<void> {
    await this.#draining;
    if (this.#client !== undefined) await orGiveUp(this.#client.end());
  }

  /**
   * The connection comes first: as long as there is none, changes wait in the queue, where their deadlines are kept.
   */
  async #sendAll(): Promise<void> {
    do {
      let client: Client;
      try {
        client = await this.#session();
      } catch (error) {
        this.#failAllWhere(this.#database.obstacle);
        await this.#pause('unreachable', error);
        continue;
      }
      const write = this.#take();
      if (write === undefined) continue;
      this.#isSending = true;
      await this.#apply(client, write);
      this.#isSending = false;
    } while (this.#isWorthSending());
  }

  #failAllWhere(obstacle: Error | undefined): void {
    if (obstacle === undefined) return;
    for (const pending of this.#queue.takeExpired(Number.POSITIVE_INFINITY)) failObstructed(pending, obstacle);
  }

  async #apply(client: Client, write: GroupedWrite): Promise<void> {
    try {
      const groups = await this.#withoutLocked(client, write.groups);
      if (groups.length > 0) await this.#applyGroups(client, { keyed: write.keyed, groups });
    } catch (error) {
      // Only the look at suspects can fail here; nothing has been sent.
      this.#giveBack(write.groups);
      await this.#afterTrouble(classifyFailure(error), error);
    }
  }

  async #applyGroups(client: Client, { keyed, groups }: GroupedWrite): Promise<void> {
    const startedAtMs = performance.now();
    const report = (failure: Failure | undefined) => {
      if (this.#observer !== undefined) reportWrite(this.#observer, { keyed, groups }, startedAtMs, failure);
    };
    try {
      const { unsent, spoiled } = keyed
        ? await applyKeyedGroups(client, groups)
        : await applyPlainGroups(alone(client), groups);
      report(undefined);
      for (const group of spoiled) this.#queue.halve(group);
      this.#giveBack(groups, unsent);
      this.#failures = 0;
      this.#isTroubleReported = false;
    } catch (error) {
      const failure = error instanceof NotCommittedError ? 'unreachable' : classifyFailure(error);
      report(failure);
      if (failure === 'refused') await this.#split(client, { keyed, groups }, error);
      else if (failure === 'unknown') this.#leaveUnknown({ keyed, groups }, error);
      else if (isLockTimeout(error)) this.#suspectAll(groups);
      else this.#giveBack(groups);
      await this.#afterTrouble(failure, error);
    }
  }

  /** Something in these groups spoils the statement for all of them: halve until it stands alone. */
  async #split(client: Client, { keyed, groups }: GroupedWrite, error: unknown): Promise<void> {
    if (groups.length > 1) {
      const middle = groups.length >> 1;
      await this.#applyGroups(client, { keyed, groups: groups.slice(0, middle) });
      await this.#applyGroups(client, { keyed, groups: groups.slice(middle) });
      return;
    }
    const group = groups[0]!;
    if (group.length > 1) {
      this.#queue.halve(group);
      this.#giveBack(groups);
      return;
    }
    group[0]!.fail(new CountError('change_refused', { cause: error }));
    this.#queue.release(groups, new Set());
  }

  /**
   * It may have been committed. With a key it can be sent again: the ledger knows. Without one the caller must learn
   * it.
   */
  #leaveUnknown({ keyed, groups }: GroupedWrite, error: unknown): void {
    if (keyed) {
      for (const pending of groups.flat()) pending.outcomeUnknown = true;
      this.#giveBack(groups);
      return;
    }
    for (const pending of groups.flat()) pending.fail(new CountError('outcome_unknown', { cause: error }));
    this.#queue.release(groups, new Set());
  }

  #suspectAll(groups: readonly Group[]): void {
    for (const group of groups) this.#queue.suspect(group, true);
    this.#giveBack(groups);
  }

  /**
   * Rows that another session holds must not make the others wait: suspects are looked at first, without waiting, and
   * those still held are left out for a moment.
   */
  async #withoutLocked(client: Client, groups: readonly Group[]): Promise<readonly Group[]> {
    const suspects = groups.filter((group) => this.#queue.isSuspect(group));
    if (suspects.length === 0) return groups;
    const itemIds = suspects.map((group) => group[0]!.itemId);
    const locked = await whichAreLocked(alone(client), itemIds);
    const held: Group[] = [];
    const free: Group[] = [];
    for (const group of groups) {
      if (locked.has(group[0]!.itemId)) {
        held.push(group);
      } else {
        this.#queue.suspect(group, false);
        free.push(group);
      }
    }
    if (held.length > 0) setTimeout(() => this.#giveBack(held), LOCKED_ITEM_PAUSE_MS);
    return free;
  }

  /** What was not sent goes back to the queue, unless its time is over: it must not go round for ever. */
  #giveBack(groups: readonly Group[], unsent = new Set<PendingChange>(groups.flat())): void {
    const nowMs = performance.now();
    for (const pending of unsent) {
      if (pending.deadlineMs > nowMs) continue;
      unsent.delete(pending);
      failExpired(pending);
    }
    this.#queue.release(groups, unsent);
  }

  async #afterTrouble(failure: Failure, error: unknown): Promise<void> {
    if (failure === 'unknown' || failure === 'unreachable' || isWrongServer(error)) this.#discardSession();
    if (failure !== 'refused') await this.#pause(failure, error);
  }

  async #session(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const client = await this.#database.openSession();
    const drop = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.once('error', drop);
    client.once('end', drop);
    this.#client = client;
    return client;
  }

  #discardSession(): void {
    const client = this.#client;
    this.#client = undefined;
    // With a query out, this closes the socket at once; it does not wait for a server that has stopped answering.
    void client?.end().catch(() => undefined);
  }

  /** Trouble is reported once until a write succeeds. A conflict is none, unless there is no end of them. */
  async #pause(failure: Failure, error: unknown): Promise<void> {
    const isTrouble = failure !== 'conflict' || this.#failures >= LASTING_CONFLICTS;
    if (isTrouble && !this.#isTroubleReported) {
      this.#isTroubleReported = true;
      this.#onTrouble(error);
    }
    const pause = pauseMs(failure, this.#failures++);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
