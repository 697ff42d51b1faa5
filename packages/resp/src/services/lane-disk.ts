import type { LaneLog } from '@quotadb/storage';
import { DiskBoard } from './disk-board.js';
import { type AskMain, askWithoutMain } from './main-services.js';

/** Waits until all changes so far are on disk, or, as a held reply, until they are as safe as --fsync promises. */
export interface DiskWaiter {
  durable(isDurable: boolean): void;
}

/** Requests of clients to the disk; the answer is an error message, or undefined. */
export type DiskRequest = { readonly kind: 'snapshot' } | { readonly kind: 'backup'; readonly directory: string };

/** A lane that writes to the log on its own thread, for all waiting lanes; see LaneLog. */
export interface Leading {
  readonly log: LaneLog;
  /** Other lanes check whether their tickets are complete. */
  wakeOthers(): void;
}

interface WaitingGroup {
  readonly ticket: number;
  readonly failures: number;
  readonly waiters: readonly DiskWaiter[];
}

/** The disk as one lane sees it. All that begin to wait in one round of the lane's loop wait for the same flush. */
export class LaneDisk {
  /** There is a data directory. */
  readonly isOn: boolean;
  /** --fsync always: replies wait until the changes they acknowledge are on disk. Else, until they are written. */
  readonly holdsUntilSynced: boolean;
  readonly board: DiskBoard;
  private readonly askMain: AskMain;
  /** On Node's event loop, where no loop of ours calls `submit` at the end of a round. */
  private readonly submitsItself: boolean;
  private readonly lane: number;
  private leading: Leading | undefined = undefined;
  private writing: LaneLog | undefined = undefined;
  /** Replies to changes that this lane has not written yet, and the spare array for the next round. */
  private unwritten: DiskWaiter[] = [];
  private spare: DiskWaiter[] = [];
  private gathered: DiskWaiter[] = [];
  private readonly groups: WaitingGroup[] = [];

  constructor(
    board: DiskBoard,
    askMain: AskMain,
    options: { isOn: boolean; holdsUntilSynced: boolean; submitsItself?: boolean; lane?: number },
  ) {
    this.board = board;
    this.askMain = askMain;
    this.isOn = options.isOn;
    this.holdsUntilSynced = options.holdsUntilSynced;
    this.submitsItself = options.submitsItself ?? false;
    this.lane = options.lane ?? 0;
  }

  /** Without --data: nothing is written to disk. */
  static none(): LaneDisk {
    return new LaneDisk(new DiskBoard(), askWithoutMain, { isOn: false, holdsUntilSynced: false });
  }

  /** Changes must be on disk before they are acknowledged, and the disk fails to write. */
  get refusesWrites(): boolean {
    return this.holdsUntilSynced && this.board.isFailed;
  }

  /** From now on this lane flushes on its own thread where the log is free. */
  lead(leading: Leading): void {
    this.leading = leading;
  }

  /** From now on this lane writes its changes on its own thread, and the main thread syncs. */
  writeWith(log: LaneLog): void {
    this.writing = log;
  }

  /** Holds a reply to a change: until it is on disk with --fsync always, else until the system has it. */
  hold(waiter: DiskWaiter): void {
    if (this.holdsUntilSynced) {
      this.wait(waiter);
      return;
    }
    this.unwritten.push(waiter);
    if (this.submitsItself && this.unwritten.length === 1) setImmediate(() => this.askToWrite());
  }

  /** The round is over: its changes are written, and its replies can leave. False where it must be tried again. */
  write(): boolean {
    if (this.unwritten.length === 0) return true;
    if (this.writing?.tryWrite() === false) return false;
    this.release();
    return true;
  }

  private askToWrite(): void {
    this.askMain('write', null, () => this.release());
  }

  private release(): void {
    const waiters = this.unwritten;
    this.unwritten = this.spare;
    this.spare = waiters;
    for (const waiter of waiters) waiter.durable(true);
    waiters.length = 0;
  }

  get isGathering(): boolean {
    return this.gathered.length > 0;
  }

  wait(waiter: DiskWaiter): void {
    this.gathered.push(waiter);
    if (this.submitsItself && this.gathered.length === 1) setImmediate(() => this.submit());
  }

  /** The round is over: all waiters of it get one ticket. */
  submit(): void {
    const { board } = this;
    // Read before the ticket is drawn: a failure after that concerns this ticket.
    const { failures } = board;
    board.setWaiting(this.lane, true);
    this.groups.push({ ticket: board.draw(), failures, waiters: this.gathered });
    this.gathered = [];
    this.pursue();
  }

  /** Notifies the waiters whose ticket is complete, and pursues the other tickets. */
  settle(): void {
    this.notifyWaiters();
    if (this.leading !== undefined && this.groups.length > 0) this.pursue();
  }

  /** Gets the open tickets completed: by a flush of this lane, or by the main thread. */
  private pursue(): void {
    const { board, leading } = this;
    if (leading === undefined || !leading.log.isUsable) {
      if (board.raiseSignal()) this.askMain('flush', null);
      return;
    }
    const ticket = board.lastDrawn();
    const outcome = leading.log.tryFlush((isDurable) => board.complete(ticket, isDurable));
    // The lane that is flushing now wakes this one when it is done.
    if (outcome === 'busy') return;
    if (outcome === 'failed' && board.raiseSignal()) this.askMain('flush', null);
    leading.wakeOthers();
    this.notifyWaiters();
  }

  private notifyWaiters(): void {
    if (this.groups.length === 0) return;
    while (this.groups.length > 0 && this.board.isComplete(this.groups[0].ticket)) {
      const group = this.groups.shift() as WaitingGroup;
      const isDurable = this.board.failures === group.failures;
      for (const waiter of group.waiters) waiter.durable(isDurable);
    }
    if (this.groups.length === 0) this.board.setWaiting(this.lane, false);
  }
}
