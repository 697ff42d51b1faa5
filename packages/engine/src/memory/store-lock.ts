import { assert } from './assert.js';
import { HeaderWord } from './layout.js';
import { giveLock, takeLock } from './lock.js';

/** Looks at the visitors before the resident sleeps: some ten microseconds. */
const LOOKS = 1000;
/** A resident that sleeps looks this often whether a visitor is still waiting. */
const LOOK_MS = 1;

/**
 * One lock for the whole store, where a lone lane has a disk: two atomic operations a round of its loop instead of two
 * for each command, which were a tenth of an increment in a pipeline.
 *
 * The lane is the resident. It takes the lock with the first shard that it needs, keeps it over many commands, and
 * gives it back at the end of its round and wherever it waits. Other threads, the visitors, take it beside the locks of
 * shards, for a piece of work. A visitor goes first: it says that it waits, and the resident looks before each shard
 * that it uses whether one does; that is a read of a word that hardly ever changes.
 */
export class StoreLock {
  private readonly memory: Int32Array;
  private isHeld = false;

  constructor(memory: Int32Array) {
    this.memory = memory;
  }

  /** The resident is about to use a shard, and holds no other. */
  keep(): void {
    if (!this.isHeld || this.memory[HeaderWord.storeVisitors] !== 0) this.letVisitorsIn();
  }

  /** The resident waits, or its round is over. */
  rest(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    giveLock(this.memory, HeaderWord.storeLock);
  }

  private letVisitorsIn(): void {
    const { memory } = this;
    this.rest();
    let visitors = Atomics.load(memory, HeaderWord.storeVisitors);
    for (let looks = 0; visitors !== 0; looks++) {
      if (looks >= LOOKS) Atomics.wait(memory, HeaderWord.storeVisitors, visitors, LOOK_MS);
      visitors = Atomics.load(memory, HeaderWord.storeVisitors);
    }
    takeLock(memory, HeaderWord.storeLock);
    this.isHeld = true;
  }

  enter(): void {
    const { memory } = this;
    assert(!this.isHeld, 'a visitor takes the lock of the store once');
    Atomics.add(memory, HeaderWord.storeVisitors, 1);
    takeLock(memory, HeaderWord.storeLock);
    this.isHeld = true;
    // The resident may wait for the lock from here on.
    Atomics.sub(memory, HeaderWord.storeVisitors, 1);
    Atomics.notify(memory, HeaderWord.storeVisitors);
  }

  leave(): void {
    assert(this.isHeld, 'a visitor gives back the lock that it has taken');
    this.rest();
  }
}
