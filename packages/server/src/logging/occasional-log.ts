/** A message is logged once, and again when this time has passed. */
const REPEAT_MS = 60_000;
/** Different messages kept; past it all of them are dropped. */
const MAXIMUM_KEPT = 1000;

/** Keeps repeated messages out of the log: a peer that is away is dialed for days. */
export class OccasionalLog {
  private readonly nowMs: () => number;
  private readonly said = new Map<string, { atMs: number; suppressed: number }>();

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Calls `write` with the number of calls suppressed since the last one, unless the last one was a moment ago. */
  say(what: string, write: (suppressed: number) => void): void {
    const nowMs = this.nowMs();
    const before = this.said.get(what);
    if (before !== undefined && nowMs - before.atMs < REPEAT_MS) {
      before.suppressed++;
      return;
    }
    if (this.said.size >= MAXIMUM_KEPT) this.said.clear();
    this.said.set(what, { atMs: nowMs, suppressed: 0 });
    write(before?.suppressed ?? 0);
  }

  /** The next message with this prefix is logged again. */
  reset(prefix: string): void {
    for (const what of this.said.keys()) if (what.startsWith(prefix)) this.said.delete(what);
  }
}
