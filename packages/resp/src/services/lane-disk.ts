import type { LaneLog } from '@quotadb/storage';
import { DiskBoard } from './disk-board.js';
import { type AskMain, askWithoutMain } from './main-services.js';

/** Waits until everything changed so far is on disk. */
export interface DiskWaiter {
  durable(isDurable: boolean): void;
}

/** What a client can ask of the disk; answered with an error in words, or with nothing. */
export type DiskRequest = { readonly kind: 'snapshot' } | { readonly kind: 'backup'; readonly directory: string };

/** A lane that writes to the log by itself, for all that wait; see LaneLog. */
export interface Leading {
  readonly log: LaneLog;
  /** Other lanes look whether they can go on. */
  wakeOthers(): void;
}

interface WaitingGroup {
  readonly ticket: number;
  readonly failures: number;
  readonly waiters: readonly DiskWaiter[];
}

/** The disk as one lane sees it. All who begin to wait in one round of the lane's loop wait for the same flush. */
export class LaneDisk {
  /** There is a data directory. */
  readonly isOn: boolean;
  /** --fsync always: replies wait for what they tell of. */
  readonly holdsReplies: boolean;
  readonly board: DiskBoard;
  private readonly askMain: AskMain;
  /** On Node's event loop there is no end of a round to be told of. */
  private readonly submitsItself: boolean;
  private readonly lane: number;
  private leading: Leading | undefined = undefined;
  private gathered: DiskWaiter[] = [];
  private readonly groups: WaitingGroup[] = [];

  constructor(
    board: DiskBoard,
    askMain: AskMain,
    options: { isOn: boolean; holdsReplies: boolean; submitsItself?: boolean; lane?: number },
  ) {
    this.board = board;
    this.askMain = askMain;
    this.isOn = options.isOn;
    this.holdsReplies = options.holdsReplies;
    this.submitsItself = options.submitsItself ?? false;
    this.lane = options.lane ?? 0;
  }

  /** Everything is in memory and stays there. */
  static none(): LaneDisk {
    return new LaneDisk(new DiskBoard(), askWithoutMain, { isOn: false, holdsReplies: false });
  }

  /** Nothing may be acknowledged now that is not on disk, and the disk takes nothing. */
  get refusesWrites(): boolean {
    return this.holdsReplies && this.board.isFailed;
  }

  /** From now on this lane flushes by itself where it can. */
  lead(leading: Leading): void {
    this.leading = leading;
  }

  get isGathering(): boolean {
    return this.gathered.length > 0;
  }

  wait(waiter: DiskWaiter): void {
    this.gathered.push(waiter);
    if (this.submitsItself && this.gathered.length === 1) setImmediate(() => this.submit());
  }

  /** The round is over: everybody who began to wait in it gets one ticket. */
  submit(): void {
    const { board } = this;
    // Read before the ticket is drawn: a failure after that concerns this ticket.
    const { failures } = board;
    board.setWaiting(this.lane, true);
    this.groups.push({ ticket: board.draw(), failures, waiters: this.gathered });
    this.gathered = [];
    this.pursue();
  }

  /** Tells those whose ticket is complete, and sees to it that the others' will be. */
  settle(): void {
    this.tell();
    if (this.leading !== undefined && this.groups.length > 0) this.pursue();
  }

  /** Has the tickets that are out completed: by a flush of this lane, or by whoever writes for all. */
  private pursue(): void {
    const { board, leading } = this;
    if (leading === undefined || !leading.log.isUsable) {
      if (board.raiseSignal()) this.askMain('flush', null);
      return;
    }
    const ticket = board.lastDrawn();
    const outcome = leading.log.tryFlush((isDurable) => board.complete(ticket, isDurable));
    // Whoever writes now wakes this lane when it is done.
    if (outcome === 'busy') return;
    if (outcome === 'failed' && board.raiseSignal()) this.askMain('flush', null);
    leading.wakeOthers();
    this.tell();
  }

  private tell(): void {
    if (this.groups.length === 0) return;
    while (this.groups.length > 0 && this.board.isComplete(this.groups[0].ticket)) {
      const group = this.groups.shift() as WaitingGroup;
      const isDurable = this.board.failures === group.failures;
      for (const waiter of group.waiters) waiter.durable(isDurable);
    }
    if (this.groups.length === 0) this.board.setWaiting(this.lane, false);
  }
}
