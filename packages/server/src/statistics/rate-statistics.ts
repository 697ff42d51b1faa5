import { HotIdentifiers } from './hot-identifiers.js';

/** The rate decisions of this thread: of RATE.LIMIT, RATE.LIMITALL, RATE.ADD and RATE.GCRA, or of the HTTP API. */
export class RateStatistics {
  allowed = 0;
  denied = 0;
  readonly hottest: HotIdentifiers;

  constructor(nowMs: () => number) {
    this.hottest = new HotIdentifiers(nowMs);
  }

  note(key: Uint8Array, start: number, length: number, isAllowed: boolean): void {
    if (isAllowed) this.allowed++;
    else this.denied++;
    this.hottest.note(0, key, start, length, isAllowed);
  }

  reset(): void {
    this.allowed = 0;
    this.denied = 0;
  }
}
