import type { Engine } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from './allotment.js';

/**
 * Allotments that have come from another group with their slot (docs/decisions/0027-slots-move.md). In the window that
 * they came in they have one starter, the origin that has counted them: it holds the whole limit and has marked what
 * was used before. Every other origin starts with nothing, so that no token is there twice. All members know this
 * before one of them serves the slot.
 *
 * Both keys are read by their value, from which resets are taken: an attempt that was not finished is reset by the
 * next.
 */
export class MovedAllotments {
  private readonly engine: Engine;
  private readonly key = new AllotmentKey();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** What this origin starts with; undefined where the allotment was not moved. */
  initialOf(allotment: Allotment, origin: Uint8Array, limit: number): number | undefined {
    if (!this.exists(this.key.movedOf(allotment))) return undefined;
    return this.exists(this.key.movedTo(allotment, origin)) ? limit : 0;
  }

  private exists({ input, length }: AllotmentKey): boolean {
    const { engine } = this;
    engine.openAny(input, 0, length);
    const value = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    engine.close();
    return value > 0;
  }
}
