/** How long the answer to an operation is kept, and how many are: the oldest are dropped first. */
export const REPEAT_WINDOW_MS = 600_000;
const MAXIMUM_REMEMBERED = 100_000;

interface Remembered<Answer> {
  readonly payload: string;
  readonly atMs: number;
  answer: Answer | undefined;
  /** Callers that asked the same while it was under way. */
  readonly waiting: ((answer: Answer) => void)[];
}

/**
 * Operations under an id that the caller chose: one that is repeated within the window is not done again, and gets the
 * first answer. Only operations that were done are kept; a denied one has spent nothing and may be tried again.
 */
export class Repeats<Answer> {
  private readonly monotonicMs: () => number;
  private readonly isDone: (answer: Answer) => boolean;
  /** In the order of their age. */
  private readonly remembered = new Map<string, Remembered<Answer>>();

  constructor(monotonicMs: () => number, isDone: (answer: Answer) => boolean) {
    this.monotonicMs = monotonicMs;
    this.isDone = isDone;
  }

  /** False where the id belongs to another operation: nothing is done then. */
  run(
    id: string,
    payload: string,
    work: (done: (answer: Answer) => void) => void,
    done: (answer: Answer) => void,
  ): boolean {
    this.dropOld();
    const before = this.remembered.get(id);
    if (before !== undefined) {
      if (before.payload !== payload) return false;
      if (before.answer === undefined) before.waiting.push(done);
      else done(before.answer);
      return true;
    }
    const entry: Remembered<Answer> = { payload, atMs: this.monotonicMs(), answer: undefined, waiting: [done] };
    this.remembered.set(id, entry);
    work((answer) => {
      entry.answer = answer;
      if (!this.isDone(answer) && this.remembered.get(id) === entry) this.remembered.delete(id);
      for (const waiting of entry.waiting.splice(0)) waiting(answer);
    });
    return true;
  }

  private dropOld(): void {
    const sinceMs = this.monotonicMs() - REPEAT_WINDOW_MS;
    for (const [id, { atMs }] of this.remembered) {
      if (atMs >= sinceMs && this.remembered.size < MAXIMUM_REMEMBERED) return;
      this.remembered.delete(id);
    }
  }
}
