import { SOURCE_BYTES_MAX } from '@quotadb/lua';
import { checkSize } from './shared-memory.js';

/**
 * Memory that all lanes share: the scripts that EVALSHA finds, and which lanes are in a script that has run for long.
 * A script that one lane adds is there for all others at once.
 *
 *   bytes                    | field      | content
 *   -------------------------|------------|--------------------------------------------------------------------
 *   0–15                     | Word       | 32-bit words:
 *                            | lock       | 1 while a lane adds, removes or looks for scripts
 *                            | generation | changes whenever scripts are removed: positions are other ones then
 *                            | used       | bytes of the region that hold scripts
 *                            | evaluated  | scripts that EVAL has added
 *   16 + lane × 4            | Slow       | of each lane
 *   16 + MAX_LANES × 4 …     | scripts    | one behind another, oldest first; each from a multiple of 4 on:
 *                            |            | bytes of the source (32 bits), 1 if loaded (32 bits), digest, source
 *
 * EVAL adds scripts that may never come again, so there are at most MAX_EVALUATED of them: with one more, the oldest
 * quarter goes. A script of SCRIPT LOAD stays until the region is full, and then goes only after those.
 */
const Word = { lock: 0, generation: 1, used: 2, evaluated: 3 } as const;
const WORDS = Object.keys(Word).length;

/** The state of a lane whose script has run for longer than the threshold. */
export const Slow = { no: 0, yes: 1, hasWritten: 2, killed: 3 } as const;

/** --lanes and the main thread's own. */
const MAX_LANES = 128;
/** Libraries have a handful of scripts of a kilobyte. */
const REGION_BYTES = 16 * 1024 * 1024;
const MAX_EVALUATED = 500;
/** The share of scripts that goes at once, so that removing, which moves all the others, is seldom. */
const REMOVED_SHARE = 1 / 4;

const REGION_BYTE = (WORDS + MAX_LANES) * Int32Array.BYTES_PER_ELEMENT;
const BOARD_BYTES = REGION_BYTE + REGION_BYTES;
const Entry = { sourceBytes: 0, isLoaded: 1 } as const;
const DIGEST_BYTE = 8;
const DIGEST_BYTES = 20;
const HEADER_BYTES = DIGEST_BYTE + DIGEST_BYTES;

/** A lane has the lock for microseconds; one that waits looks again this soon even without a notification. */
const LOCK_WAIT_MS = 1;

export class ScriptBoard {
  /** Of source, for one script: more is not compiled. */
  static readonly MAX_SCRIPT_BYTES = SOURCE_BYTES_MAX;

  readonly buffer: SharedArrayBuffer;
  private readonly words: Int32Array;
  private readonly lanes: Int32Array;
  private readonly region: Int32Array;
  private readonly bytes: Buffer;
  /** The positions of the scripts up to `indexedTo`, by digest, as of `indexedAt`. */
  private readonly index = new Map<string, number>();
  private indexedTo = 0;
  private indexedAt = 0;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BOARD_BYTES)) {
    checkSize('the board of scripts', buffer, BOARD_BYTES);
    this.buffer = buffer;
    this.words = new Int32Array(buffer, 0, WORDS);
    this.lanes = new Int32Array(buffer, WORDS * Int32Array.BYTES_PER_ELEMENT, MAX_LANES);
    this.region = new Int32Array(buffer, REGION_BYTE);
    this.bytes = Buffer.from(buffer, REGION_BYTE);
  }

  /** Changes whenever a script may have gone: what a lane has compiled is then looked up again. */
  get generation(): number {
    return Atomics.load(this.words, Word.generation);
  }

  /** Adds a script, in latin1, or notes that it was loaded. The digest has forty hexadecimal digits in lower case. */
  add(digest: string, source: string, isLoaded: boolean): void {
    this.exclusively(() => {
      const known = this.index.get(digest);
      if (known !== undefined) {
        if (isLoaded) this.markLoaded(known);
        return;
      }
      const bytes = entryBytes(source.length);
      if (this.words[Word.used] + bytes > REGION_BYTES) this.makeRoom(bytes);
      if (!isLoaded && this.words[Word.evaluated] >= MAX_EVALUATED) this.remove(this.oldestEvaluated());
      this.append(digest, source, isLoaded);
    });
  }

  find(digest: string): string | undefined {
    return this.exclusively(() => {
      const at = this.index.get(digest);
      if (at === undefined) return undefined;
      return this.bytes.toString('latin1', at + HEADER_BYTES, at + HEADER_BYTES + this.sourceBytesAt(at));
    });
  }

  has(digest: string): boolean {
    return this.exclusively(() => this.index.has(digest));
  }

  flush(): void {
    this.exclusively(() => {
      this.words[Word.used] = 0;
      this.words[Word.evaluated] = 0;
      this.startGeneration();
    });
  }

  figures(): { readonly scripts: number; readonly bytes: number } {
    return this.exclusively(() => ({ scripts: this.index.size, bytes: this.words[Word.used] }));
  }

  // ---- slow scripts -------------------------------------------------------------------------------------------------

  slowOf(lane: number): number {
    return Atomics.load(this.lanes, lane);
  }

  setSlow(lane: number, slow: number): void {
    Atomics.store(this.lanes, lane, slow);
  }

  /** The script of this lane is about to write: from now on it cannot be killed. False where it has been. */
  beginWriting(lane: number): boolean {
    return Atomics.compareExchange(this.lanes, lane, Slow.yes, Slow.hasWritten) !== Slow.killed;
  }

  /** Ends the slow scripts that have not written: how many these are, and how many have written. */
  kill(): { readonly killed: number; readonly unkillable: number } {
    let killed = 0;
    let unkillable = 0;
    for (let lane = 0; lane < MAX_LANES; lane++) {
      const before = Atomics.compareExchange(this.lanes, lane, Slow.yes, Slow.killed);
      if (before === Slow.yes || before === Slow.killed) killed++;
      else if (before === Slow.hasWritten) unkillable++;
    }
    return { killed, unkillable };
  }

  // ---- the region ---------------------------------------------------------------------------------------------------

  private exclusively<Result>(work: () => Result): Result {
    const { words } = this;
    while (Atomics.compareExchange(words, Word.lock, 0, 1) !== 0) Atomics.wait(words, Word.lock, 1, LOCK_WAIT_MS);
    try {
      this.refresh();
      return work();
    } finally {
      Atomics.store(words, Word.lock, 0);
      Atomics.notify(words, Word.lock, 1);
    }
  }

  /** Brings the index up to what other lanes have added. */
  private refresh(): void {
    const { index, words } = this;
    if (this.indexedAt !== words[Word.generation]) {
      this.indexedAt = words[Word.generation];
      this.indexedTo = 0;
      index.clear();
    }
    while (this.indexedTo < words[Word.used]) {
      const at = this.indexedTo;
      index.set(this.digestAt(at), at);
      this.indexedTo = at + entryBytes(this.sourceBytesAt(at));
    }
  }

  private append(digest: string, source: string, isLoaded: boolean): void {
    const { words, region, bytes } = this;
    const at = words[Word.used];
    region[at / 4 + Entry.sourceBytes] = source.length;
    region[at / 4 + Entry.isLoaded] = isLoaded ? 1 : 0;
    bytes.write(digest, at + DIGEST_BYTE, 'hex');
    bytes.write(source, at + HEADER_BYTES, 'latin1');
    words[Word.used] = at + entryBytes(source.length);
    if (!isLoaded) words[Word.evaluated]++;
  }

  private markLoaded(at: number): void {
    const { words, region } = this;
    if (region[at / 4 + Entry.isLoaded] === 1) return;
    region[at / 4 + Entry.isLoaded] = 1;
    words[Word.evaluated]--;
  }

  /** Removes the oldest scripts, those of EVAL first, until a quarter of the region and these bytes are free. */
  private makeRoom(bytes: number): void {
    const goal = Math.min(REGION_BYTES * (1 - REMOVED_SHARE), REGION_BYTES - bytes);
    const positions = [...this.index.values()];
    const isLoaded = (at: number) => this.region[at / 4 + Entry.isLoaded] === 1;
    const order = [...positions.filter((at) => !isLoaded(at)), ...positions.filter(isLoaded)];
    const removed = new Set<number>();
    let used = this.words[Word.used];
    for (const at of order) {
      if (used <= goal) break;
      used -= entryBytes(this.sourceBytesAt(at));
      removed.add(at);
    }
    this.remove(removed);
  }

  private oldestEvaluated(): ReadonlySet<number> {
    const evaluated = [...this.index.values()].filter((at) => this.region[at / 4 + Entry.isLoaded] === 0);
    return new Set(evaluated.slice(0, Math.ceil(MAX_EVALUATED * REMOVED_SHARE)));
  }

  /** Moves the others together. */
  private remove(positions: ReadonlySet<number>): void {
    const { words, region, bytes } = this;
    let to = 0;
    for (let at = 0; at < words[Word.used]; ) {
      const length = entryBytes(this.sourceBytesAt(at));
      if (positions.has(at)) {
        if (region[at / 4 + Entry.isLoaded] === 0) words[Word.evaluated]--;
      } else {
        bytes.copyWithin(to, at, at + length);
        to += length;
      }
      at += length;
    }
    words[Word.used] = to;
    this.startGeneration();
  }

  private startGeneration(): void {
    Atomics.add(this.words, Word.generation, 1);
    this.refresh();
  }

  private sourceBytesAt(at: number): number {
    return this.region[at / 4 + Entry.sourceBytes];
  }

  private digestAt(at: number): string {
    return this.bytes.toString('hex', at + DIGEST_BYTE, at + HEADER_BYTES);
  }
}

/** What a script takes in the region. */
function entryBytes(sourceBytes: number): number {
  return Math.ceil((HEADER_BYTES + sourceBytes) / 4) * 4;
}
