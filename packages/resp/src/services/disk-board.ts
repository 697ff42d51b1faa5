import type { DiskStatus } from '@quotadb/storage';

/**
 * What the lanes and the thread that writes to the disk tell each other without a message. Lanes draw tickets: a ticket
 * stands for everything its lane had changed before. When a flush that began after that is over, `completed` has reached
 * the ticket. Both wrap around.
 *
 *   word | what
 *   -----|--------------------------------------------------------------------------------
 *   0    | tickets drawn
 *   1    | tickets completed, whether what they stand for is on disk or not
 *   2    | how often a flush has failed: who sees it move while it waits was not written
 *   3    | 1 while the disk does not take what it is given
 *   4    | 1 while the writing thread is at work, or was told that there is something to do
 *   5    | 1 while a snapshot is being written
 *   6    | 1 when the last snapshot failed
 *   7    | lanes that wait for a ticket, a bit each
 *   8 …  | figures for INFO, doubles, in the order of FIGURES
 */
const Word = {
  drawn: 0,
  completed: 1,
  failures: 2,
  failed: 3,
  signalled: 4,
  snapshotting: 5,
  snapshotFailed: 6,
  waitingLanes: 7,
} as const;
const WORDS = 8;

const FIGURES = [
  'logBytes',
  'snapshotBytes',
  'lastSaveMs',
  'lastSnapshotMs',
  'writtenBytesTotal',
  'syncsTotal',
  'flushesTotal',
  'lastFlushMs',
  'lateFlushesTotal',
] as const satisfies readonly (keyof DiskStatus)[];

export type DiskFigures = Readonly<Record<(typeof FIGURES)[number], number>>;

export class DiskBoard {
  readonly buffer: SharedArrayBuffer;
  private readonly words: Int32Array;
  private readonly numbers: Float64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(WORDS * 4 + FIGURES.length * 8)) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer, 0, WORDS);
    this.numbers = new Float64Array(buffer, WORDS * 4);
  }

  draw(): number {
    return (Atomics.add(this.words, Word.drawn, 1) + 1) | 0;
  }

  lastDrawn(): number {
    return Atomics.load(this.words, Word.drawn);
  }

  isComplete(ticket: number): boolean {
    return ((Atomics.load(this.words, Word.completed) - ticket) | 0) >= 0;
  }

  complete(ticket: number, isDurable: boolean): void {
    if (!isDurable) Atomics.add(this.words, Word.failures, 1);
    // Of two who finish at once the one with the later ticket counts.
    for (let before = Atomics.load(this.words, Word.completed); ((ticket - before) | 0) > 0; ) {
      const found = Atomics.compareExchange(this.words, Word.completed, before, ticket);
      if (found === before) return;
      before = found;
    }
  }

  get failures(): number {
    return Atomics.load(this.words, Word.failures);
  }

  get isFailed(): boolean {
    return Atomics.load(this.words, Word.failed) === 1;
  }

  get isSnapshotting(): boolean {
    return Atomics.load(this.words, Word.snapshotting) === 1;
  }

  get lastSnapshotFailed(): boolean {
    return Atomics.load(this.words, Word.snapshotFailed) === 1;
  }

  /** True when the writing thread has to be told. */
  raiseSignal(): boolean {
    return Atomics.exchange(this.words, Word.signalled, 1) === 0;
  }

  lowerSignal(): void {
    Atomics.store(this.words, Word.signalled, 0);
  }

  /** Said before a lane draws a ticket, and when its last one is settled: the others are not woken for nothing. */
  setWaiting(lane: number, isWaiting: boolean): void {
    if (isWaiting) Atomics.or(this.words, Word.waitingLanes, 1 << lane);
    else Atomics.and(this.words, Word.waitingLanes, ~(1 << lane));
  }

  isWaiting(lane: number): boolean {
    return (Atomics.load(this.words, Word.waitingLanes) & (1 << lane)) !== 0;
  }

  publish(status: DiskStatus): void {
    Atomics.store(this.words, Word.failed, status.isFailed ? 1 : 0);
    Atomics.store(this.words, Word.snapshotting, status.isSnapshotting ? 1 : 0);
    Atomics.store(this.words, Word.snapshotFailed, status.lastSnapshotFailed ? 1 : 0);
    FIGURES.forEach((name, index) => {
      this.numbers[index] = status[name];
    });
  }

  figures(): DiskFigures {
    return Object.fromEntries(FIGURES.map((name, index) => [name, this.numbers[index]])) as DiskFigures;
  }
}
