import { checkSize } from './shared-memory.js';

/**
 * Memory that the thread that replicates writes and all lanes read, so that they need not ask.
 *
 *   words   | sequence         | odd while the board is written: a reader that meets a change reads again
 *           | regions          | regions with a known age of this node's view
 *           | members          | members
 *           | waiting          | clients of all lanes that wait for acknowledgements of members (WAIT)
 *           | descriptionBytes | length of the description
 *           | 3 unused         |
 *   doubles | asOf             | by region: the time of this node's complete view, in ms of the system's monotonic
 *           |                  | clock; -1 = never
 *           | acknowledged     | by member and shard: the version of this node's own changes that the member holds
 *   bytes   | description      | JSON, for INFO, REPL.PEERS and metrics
 */
const Word = { sequence: 0, regions: 1, members: 2, waiting: 3, descriptionBytes: 4 } as const;
const WORDS = 8;

/** More than any cluster has; regions beyond it are not shown. */
export const MAXIMUM_REGIONS = 64;
const DESCRIPTION_BYTES = 64 * 1024;

const AS_OF_BYTE = WORDS * Int32Array.BYTES_PER_ELEMENT;
const ACKNOWLEDGED_BYTE = AS_OF_BYTE + MAXIMUM_REGIONS * Float64Array.BYTES_PER_ELEMENT;

const encoder = new TextEncoder();

export class ReplicationBoard {
  readonly buffer: SharedArrayBuffer;
  private readonly shardCount: number;
  private readonly words: Int32Array;
  private readonly asOf: Float64Array;
  private readonly acknowledged: Float64Array;
  private readonly text: Uint8Array;

  constructor(shardCount: number, buffer?: SharedArrayBuffer) {
    const versions = MAXIMUM_REGIONS * shardCount;
    const textByte = ACKNOWLEDGED_BYTE + versions * Float64Array.BYTES_PER_ELEMENT;
    this.buffer = buffer ?? new SharedArrayBuffer(textByte + DESCRIPTION_BYTES);
    checkSize('the board of replication', this.buffer, textByte + DESCRIPTION_BYTES);
    this.shardCount = shardCount;
    this.words = new Int32Array(this.buffer, 0, WORDS);
    this.asOf = new Float64Array(this.buffer, AS_OF_BYTE, MAXIMUM_REGIONS);
    this.acknowledged = new Float64Array(this.buffer, ACKNOWLEDGED_BYTE, versions);
    this.text = new Uint8Array(this.buffer, textByte, DESCRIPTION_BYTES);
  }

  // ---- the thread that replicates ----

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

  // ---- lanes ----

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

  /** The times of this node's complete views of the regions, in the order of the description; -1 = never. */
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
