import { assert } from './assert.js';
import { HeaderWord } from './layout.js';
import { giveLock, takeLock } from './lock.js';

/** Looks at the guests before the keeper sleeps: some ten microseconds. */
const LOOKS = 1000;
/** A keeper that sleeps looks this often whether a guest is still waiting. */
const LOOK_MS = 1;

/**
 * One lock for the whole store, where a lone lane has a disk: two atomic operations a round of its loop instead of two
 * for each command, which were a tenth of an increment in a pipeline.
 *
 * The lane is the keeper. It takes the lock with the first shard that it needs, keeps it over many commands, and gives
 * it back at the end of its round and wherever it waits. Other threads, the guests, take it beside the locks of shards,
 * for a piece of work. A guest goes first: it says that it waits, and before each shard that the keeper uses it looks
 * whether one does; that is a read of a word that hardly ever changes.
 */
export class StoreLock {
  private readonly memory: Int32Array;
  private isHeld = false;

  constructor(memory: Int32Array) {
    this.memory = memory;
  }

  /** The keeper is about to use a shard, and holds no other. */
  keep(): void {
    if (!this.isHeld || this.memory[HeaderWord.storeGuests] !== 0) this.letGuestsIn();
  }

  /** The keeper waits, or its round is over. */
  rest(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    giveLock(this.memory, HeaderWord.storeLock);
  }

  private letGuestsIn(): void {
    const { memory } = this;
    this.rest();
    let guests = Atomics.load(memory, HeaderWord.storeGuests);
    for (let looks = 0; guests !== 0; looks++) {
      if (looks >= LOOKS) Atomics.wait(memory, HeaderWord.storeGuests, guests, LOOK_MS);
      guests = Atomics.load(memory, HeaderWord.storeGuests);
    }
    takeLock(memory, HeaderWord.storeLock);
    this.isHeld = true;
  }

  enter(): void {
    const { memory } = this;
    assert(!this.isHeld, 'a guest takes the lock of the store once');
    Atomics.add(memory, HeaderWord.storeGuests, 1);
    takeLock(memory, HeaderWord.storeLock);
    this.isHeld = true;
    // The keeper may wait for the lock from here on.
    Atomics.sub(memory, HeaderWord.storeGuests, 1);
    Atomics.notify(memory, HeaderWord.storeGuests);
  }

  leave(): void {
    assert(this.isHeld, 'a guest gives back the lock that it has taken');
    this.rest();
  }
}
