/** The same thing is said once, and again after so long. */
const REPEAT_MS = 60_000;
/** Different things remembered; past it everything is new again. */
const MAXIMUM_REMEMBERED = 1000;

/** Keeps what happens over and over again out of the log: a peer that is away is dialed for days. */
export class OccasionalLog {
  private readonly nowMs: () => number;
  private readonly said = new Map<string, { atMs: number; suppressed: number }>();

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Calls `write` with how often it was not called since the last time, where it is time again. */
  say(what: string, write: (suppressed: number) => void): void {
    const nowMs = this.nowMs();
    const before = this.said.get(what);
    if (before !== undefined && nowMs - before.atMs < REPEAT_MS) {
      before.suppressed++;
      return;
    }
    if (this.said.size >= MAXIMUM_REMEMBERED) this.said.clear();
    this.said.set(what, { atMs: nowMs, suppressed: 0 });
    write(before?.suppressed ?? 0);
  }

  /** It is over: the next time is news. */
  forget(prefix: string): void {
    for (const what of this.said.keys()) if (what.startsWith(prefix)) this.said.delete(what);
  }
}
