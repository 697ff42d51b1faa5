import type { UsageEvent } from './usage-event.js';

/** Where usage goes. */
export interface Sink {
  /**
   * Resolves when the events are taken for good; rejects where they may have to be sent again, with the same number and
   * events. Numbers only grow.
   */
  deliver(number: number, events: readonly UsageEvent[], signal: AbortSignal): Promise<void>;
}
