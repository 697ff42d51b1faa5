/**
 * A step to undo before the bench ends: a process to stop, a directory or a control group to remove. Everything that is
 * started registers here before it can fail, and is undone in the opposite order, once.
 */
export interface Undo {
  /** In the ordinary case: may wait for a process to end. */
  gently(): Promise<void>;
  /** When the bench is leaving at once: must be synchronous. */
  atOnce(): void;
}

/** An undo that is the same in both cases. */
export function undoNow(undo: () => void): Undo {
  return { gently: async () => undo(), atOnce: undo };
}

export class Cleanup {
  readonly #undos: Undo[] = [];

  /** Returns a function that undoes just this, earlier. */
  add(undo: Undo): () => Promise<void> {
    this.#undos.push(undo);
    return async () => {
      const index = this.#undos.indexOf(undo);
      if (index < 0) return;
      this.#undos.splice(index, 1);
      await undo.gently();
    };
  }

  /** Undoes everything, even where one step fails; the failures come back together. */
  async gently(): Promise<void> {
    const failures: unknown[] = [];
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) {
      await undo.gently().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, `clean-up failed: ${failures.join('; ')}`);
  }

  atOnce(): void {
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) {
      try {
        undo.atOnce();
      } catch {
        // Leaving anyway; the rest is still worth undoing.
      }
    }
  }
}
