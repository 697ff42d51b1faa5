import { createHash } from 'node:crypto';
import { KeptKind, type KeptRecords } from '../ledger/kept-records.js';
import { REPEAT_WINDOW_MS } from '../policies/policy.js';

/** How many answers are in memory: the oldest are dropped first. */
const MAXIMUM_REMEMBERED = 100_000;
/** Of the payload's digest: with the 1 that is added, a safe integer. */
const PAYLOAD_BYTES = 6;

interface Remembered<Answer> {
  readonly payload: number;
  readonly atMs: number;
  answer: Answer | undefined;
  /** Callers that asked the same while it was under way. */
  readonly waiting: ((answer: Answer) => void)[];
}

export interface RepeatsOptions<Answer> {
  readonly monotonicMs: () => number;
  /** By the clock that keys expire by. */
  readonly nowMs: () => number;
  readonly isDone: (answer: Answer) => boolean;
  readonly records: KeptRecords;
}

export interface Operation<Answer> {
  readonly id: string;
  /** All that makes it this operation and no other. */
  readonly payload: string;
  readonly work: (done: (answer: Answer) => void) => void;
  /** The answer to a repetition where the first answer is not in memory: of an earlier process, or another region. */
  readonly again: () => Answer;
}

/**
 * Operations under an id that the caller chose: one that is repeated within the window is not done again, and gets the
 * first answer. Only operations that were done are kept; a denied one has spent nothing and may be tried again.
 *
 * That an id was used is a key (`kept-records.ts`): it outlives the process with the disk, and other regions know it
 * once it has reached them. Until then they do not, and a repetition there is another operation.
 */
export class Repeats<Answer> {
  private readonly options: RepeatsOptions<Answer>;
  /** By the name of the id, in the order of their age. */
  private readonly remembered = new Map<string, Remembered<Answer>>();

  constructor(options: RepeatsOptions<Answer>) {
    this.options = options;
  }

  /** False where the id belongs to another operation: nothing is done then. */
  run({ id, payload: text, work, again }: Operation<Answer>, done: (answer: Answer) => void): boolean {
    this.dropOld();
    const payload = createHash('sha256').update(text).digest().readUIntBE(0, PAYLOAD_BYTES);
    const name = nameOfOperation(id);
    const before = this.remembered.get(name);
    if (before !== undefined) {
      if (before.payload !== payload) return false;
      if (before.answer === undefined) before.waiting.push(done);
      else done(before.answer);
      return true;
    }
    const kept = this.options.records.valuesOf(KeptKind.operation, Buffer.from(name, 'hex'));
    if (kept.length > 0 && !kept.includes(1 + payload)) return false;
    if (kept.length > 0) done(again());
    else this.begin(name, payload, work, done);
    return true;
  }

  private begin(
    name: string,
    payload: number,
    work: (done: (answer: Answer) => void) => void,
    done: (answer: Answer) => void,
  ): void {
    const { monotonicMs, isDone } = this.options;
    const entry: Remembered<Answer> = { payload, atMs: monotonicMs(), answer: undefined, waiting: [done] };
    this.remembered.set(name, entry);
    work((answer) => {
      entry.answer = answer;
      if (isDone(answer)) this.keep(name, payload);
      else if (this.remembered.get(name) === entry) this.remembered.delete(name);
      for (const waiting of entry.waiting.splice(0)) waiting(answer);
    });
  }

  /** Where there is no memory for it, it is known to this process alone. */
  private keep(name: string, payload: number): void {
    const { records, nowMs } = this.options;
    const progress = { added: 1 + payload, taken: 0 };
    records.set(KeptKind.operation, Buffer.from(name, 'hex'), progress, nowMs() + REPEAT_WINDOW_MS);
  }

  private dropOld(): void {
    const sinceMs = this.options.monotonicMs() - REPEAT_WINDOW_MS;
    for (const [id, { atMs }] of this.remembered) {
      if (atMs >= sinceMs && this.remembered.size < MAXIMUM_REMEMBERED) return;
      this.remembered.delete(id);
    }
  }
}

/** The name that an id of any length is kept under. */
export function nameOfOperation(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
