import { assert } from '../memory/assert.js';
import { SHARD_NOTES, ShardNumber, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { versionOf } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/** `ShardWord.noted` of notes that are not complete. */
const INCOMPLETE = SHARD_NOTES + 1;

/**
 * The own components of each shard that changed since the log was last written: an array in the shared store, so that
 * each write of the log finds them without the version list. That list then stays unordered until a peer or a digest
 * reads it, and a change leaves its neighbours alone.
 *
 * While the notes are complete they hold each own component with a version above `notedFrom`, once. They are given up
 * where a change finds no room, or a component comes into the list otherwise; the next write of the log then walks the
 * list, and they begin anew. The shard's lock is held.
 */
export class ChangeNotes {
  private readonly store: Store;
  /** Scratch memory of `sort`. */
  private readonly versions = new Float64Array(SHARD_NOTES);

  constructor(store: Store) {
    this.store = store;
  }

  /** An own component with this version is about to get a newer one. */
  add(shard: number, component: number, version: number): void {
    const { memory, numbers } = this.store;
    if (version > numbers[(shard >>> 1) + ShardNumber.notedFrom]) return;
    const count = memory[shard + ShardWord.noted];
    if (count === INCOMPLETE) return;
    if (count < SHARD_NOTES) memory[shard + ShardWord.notes + count] = component;
    memory[shard + ShardWord.noted] = count + 1;
  }

  /** An own component is about to leave its list. */
  remove(shard: number, component: number): void {
    const { memory, numbers } = this.store;
    const count = memory[shard + ShardWord.noted];
    if (count === INCOMPLETE || versionOf(memory, component) <= numbers[(shard >>> 1) + ShardNumber.notedFrom]) return;
    const notes = shard + ShardWord.notes;
    let at = notes;
    while (at < notes + count && linkAt(memory, at) !== component) at++;
    assert(at < notes + count, 'complete notes have every component that changed');
    memory[at] = memory[notes + count - 1];
    memory[shard + ShardWord.noted] = count - 1;
  }

  giveUp(shard: number): void {
    this.store.memory[shard + ShardWord.noted] = INCOMPLETE;
  }

  /** Whether the notes hold all that changed after this version, and nothing else. */
  areComplete(shard: number, from: number): boolean {
    const { memory, numbers } = this.store;
    return memory[shard + ShardWord.noted] !== INCOMPLETE && numbers[(shard >>> 1) + ShardNumber.notedFrom] === from;
  }

  /** Puts complete notes in version order; returns how many there are. Almost all of them are in order already. */
  sort(shard: number): number {
    const { memory } = this.store;
    const { versions } = this;
    const notes = shard + ShardWord.notes;
    const count = memory[shard + ShardWord.noted];
    for (let index = 0; index < count; index++) {
      const component = memory[notes + index];
      const version = versionOf(memory, component >>> 0);
      let at = index;
      for (; at > 0 && versions[at - 1] > version; at--) {
        versions[at] = versions[at - 1];
        memory[notes + at] = memory[notes + at - 1];
      }
      versions[at] = version;
      memory[notes + at] = component;
    }
    return count;
  }

  /** The component of a note, in the order of the last `sort`. */
  at(shard: number, index: number): number {
    return linkAt(this.store.memory, shard + ShardWord.notes + index);
  }

  /** Takes out the first notes: the log has them, up to this version. */
  drop(shard: number, count: number, version: number): void {
    const { memory, numbers } = this.store;
    const notes = shard + ShardWord.notes;
    const left = memory[shard + ShardWord.noted] - count;
    if (left > 0) memory.copyWithin(notes, notes + count, notes + count + left);
    memory[shard + ShardWord.noted] = left;
    numbers[(shard >>> 1) + ShardNumber.notedFrom] = version;
  }

  /** The log has all changes up to this version, the newest. */
  begin(shard: number, version: number): void {
    this.store.memory[shard + ShardWord.noted] = 0;
    this.store.numbers[(shard >>> 1) + ShardNumber.notedFrom] = version;
  }
}
