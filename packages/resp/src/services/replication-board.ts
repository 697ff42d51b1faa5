/**
 * What the thread that replicates shows to all lanes, so that they need not ask.
 *
 *   words   | 0  odd while it is being written: who has read meanwhile reads again
 *           | 1  regions of which the age of this node's view is known
 *           | 2  members
 *           | 3  clients that wait for members to acknowledge (WAIT), over all lanes
 *           | 4  bytes of the description
 *   doubles | of each region: as of when this node knows all of it, in milliseconds of the system's monotonic clock; -1 = never
 *           | of each member, shard by shard: up to where it has this node's own changes
 *   bytes   | the description: JSON, for INFO and the like
 */
const Word = { sequence: 0, regions: 1, members: 2, waiting: 3, descriptionBytes: 4 } as const;
const WORDS = 8;

/** More regions than anybody has; what does not fit is not shown. */
export const MAXIMUM_REGIONS = 64;
const DESCRIPTION_BYTES = 64 * 1024;

const encoder = new TextEncoder();

export class ReplicationBoard {
  readonly buffer: SharedArrayBuffer;
  private readonly shardCount: number;
  private readonly words: Int32Array;
  private readonly asOf: Float64Array;
  private readonly acknowledged: Float64Array;
  private readonly text: Uint8Array;

  constructor(shardCount: number, buffer?: SharedArrayBuffer) {
    const asOfAt = WORDS * 4;
    const acknowledgedAt = asOfAt + MAXIMUM_REGIONS * 8;
    const textAt = acknowledgedAt + MAXIMUM_REGIONS * shardCount * 8;
    this.buffer = buffer ?? new SharedArrayBuffer(textAt + DESCRIPTION_BYTES);
    this.shardCount = shardCount;
    this.words = new Int32Array(this.buffer, 0, WORDS);
    this.asOf = new Float64Array(this.buffer, asOfAt, MAXIMUM_REGIONS);
    this.acknowledged = new Float64Array(this.buffer, acknowledgedAt, MAXIMUM_REGIONS * shardCount);
    this.text = new Uint8Array(this.buffer, textAt, DESCRIPTION_BYTES);
  }

  // ---- the thread that replicates ---------------------------------------------------------------------------------------

  /** One writer; `write` is short. */
  publish(write: () => void): void {
    Atomics.add(this.words, Word.sequence, 1);
    try {
      write();
    } finally {
      Atomics.add(this.words, Word.sequence, 1);
    }
  }

  setRegions(asOfMs: readonly number[]): void {
    const shown = asOfMs.slice(0, MAXIMUM_REGIONS);
    this.asOf.set(shown);
    this.words[Word.regions] = shown.length;
  }

  setMembers(acknowledged: readonly (ArrayLike<number> | undefined)[]): void {
    const shown = acknowledged.slice(0, MAXIMUM_REGIONS);
    for (const [index, versions] of shown.entries()) {
      const start = index * this.shardCount;
      if (versions === undefined) this.acknowledged.fill(0, start, start + this.shardCount);
      else this.acknowledged.set(versions, start);
    }
    this.words[Word.members] = shown.length;
  }

  setDescription(description: object): void {
    const bytes = encoder.encode(JSON.stringify(description));
    if (bytes.length > DESCRIPTION_BYTES) return;
    this.text.set(bytes);
    this.words[Word.descriptionBytes] = bytes.length;
  }

  get isAwaited(): boolean {
    return Atomics.load(this.words, Word.waiting) > 0;
  }

  // ---- lanes --------------------------------------------------------------------------------------------------------------

  countWaiting(change: 1 | -1): void {
    Atomics.add(this.words, Word.waiting, change);
  }

  /** How many members have all of these own versions. */
  acknowledgedBy(versions: ArrayLike<number>): number {
    return this.read(() => {
      let count = 0;
      for (let member = 0; member < this.words[Word.members]; member++) if (this.covers(member, versions)) count++;
      return count;
    });
  }

  /** The regions in the order of the description, each with when this node last knew all of it; -1 = never. */
  regionsAsOf(): number[] {
    return this.read(() => [...this.asOf.subarray(0, this.words[Word.regions])]);
  }

  description(): string {
    const bytes = this.read(() => Uint8Array.from(this.text.subarray(0, this.words[Word.descriptionBytes])));
    return Buffer.from(bytes).toString('utf8');
  }

  private covers(member: number, versions: ArrayLike<number>): boolean {
    const start = member * this.shardCount;
    for (let shard = 0; shard < this.shardCount; shard++)
      if (this.acknowledged[start + shard] < versions[shard]) return false;
    return true;
  }

  private read<Value>(work: () => Value): Value {
    for (;;) {
      const before = Atomics.load(this.words, Word.sequence);
      if ((before & 1) === 1) continue;
      const value = work();
      if (Atomics.load(this.words, Word.sequence) === before) return value;
    }
  }
}
