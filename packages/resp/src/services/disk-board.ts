import type { DiskStatus } from '@quotadb/storage';
import { checkSize } from './shared-memory.js';

/**
 * Memory that the lanes and the thread that writes to the disk share. A lane draws a ticket, which stands for all of
 * its changes before. When a flush that began after that is over, `completed` has reached the ticket. Both wrap around.
 *
 *   bytes  | field          | content
 *   -------|----------------|------------------------------------------------------------------------------
 *   0–31   | Word           | 32-bit words:
 *          | drawn          | tickets drawn
 *          | completed      | tickets completed, by a flush that succeeded or failed
 *          | failures       | failed flushes: a ticket that was out when it grew is not on disk
 *          | failed         | 1 while the disk fails to write
 *          | signalled      | 1 while the writing thread is at work or has been notified
 *          | snapshotting   | 1 while a snapshot is being written
 *          | snapshotFailed | 1 when the last snapshot failed
 *          | waitingLanes   | lanes that wait for a ticket, a bit each
 *   32 …   | FIGURES        | doubles, for INFO
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
const WORDS = Object.keys(Word).length;
const FIGURES_BYTE = WORDS * Int32Array.BYTES_PER_ELEMENT;

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

const BOARD_BYTES = FIGURES_BYTE + FIGURES.length * Float64Array.BYTES_PER_ELEMENT;

export type DiskFigures = Readonly<Record<(typeof FIGURES)[number], number>>;

export class DiskBoard {
  readonly buffer: SharedArrayBuffer;
  private readonly words: Int32Array;
  private readonly numbers: Float64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BOARD_BYTES)) {
    checkSize('the board of the disk', buffer, BOARD_BYTES);
    this.buffer = buffer;
    this.words = new Int32Array(buffer, 0, WORDS);
    this.numbers = new Float64Array(buffer, FIGURES_BYTE, FIGURES.length);
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
    // Of two flushes that end at the same time the one with the later ticket counts.
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

  /** True when the writing thread has to be notified. */
  raiseSignal(): boolean {
    return Atomics.exchange(this.words, Word.signalled, 1) === 0;
  }

  lowerSignal(): void {
    Atomics.store(this.words, Word.signalled, 0);
  }

  /** Set before a lane draws a ticket and cleared with its last one, so that only waiting lanes are woken. */
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
