/** Where the own sequence was: nothing behind these versions had been made at `untilMs`. */
interface Mark {
  readonly versions: Float64Array;
  untilMs: number;
}

/** Marks kept. With 64 over ten days a time found in them is too early by at most about half of its age. */
const MAXIMUM_MARKS = 64;

/**
 * When this node's own changes were made, for the lag of its peers: the versions that a peer has acknowledged date its
 * view. Versions themselves date changes by a wall clock, which may be set, and only the last change of each key; a
 * mark is of the monotonic clock, and covers all changes.
 */
export class OwnHistory {
  private readonly marks: Mark[] = [];

  /** Called often, with the own sequence: changes that two calls in a row show are dated by the first. */
  note(seen: ArrayLike<number>, nowMs: number): void {
    const newest = this.marks.at(-1);
    if (newest?.versions.every((version, shard) => version === seen[shard])) {
      newest.untilMs = nowMs;
      return;
    }
    if (this.marks.length === MAXIMUM_MARKS) this.drop(nowMs);
    this.marks.push({ versions: Float64Array.from(seen), untilMs: nowMs });
  }

  /** The own sequence is where it was at the last `note`. */
  noteStill(nowMs: number): void {
    const newest = this.marks.at(-1);
    if (newest !== undefined) newest.untilMs = nowMs;
  }

  /** Up to when a replica with this version holds every own change of a shard; undefined = from before all marks. */
  heldUntil(shard: number, version: number): number | undefined {
    for (let at = this.marks.length - 1; at >= 0; at--)
      if (this.marks[at].versions[shard] <= version) return this.marks[at].untilMs;
    return undefined;
  }

  /** Forgets the mark between two that are the least apart, for their age. The first and the last stay. */
  private drop(nowMs: number): void {
    let least = 1;
    let leastLoss = Number.POSITIVE_INFINITY;
    for (let at = 1; at < this.marks.length - 1; at++) {
      const { untilMs } = this.marks[at + 1];
      const loss = (untilMs - this.marks[at - 1].untilMs) / (nowMs - untilMs + 1);
      if (loss >= leastLoss) continue;
      least = at;
      leastLoss = loss;
    }
    this.marks.splice(least, 1);
  }
}
