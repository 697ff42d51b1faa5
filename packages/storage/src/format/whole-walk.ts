import type { Engine } from '@quotadb/engine';

/** After a pass that wrote no more than this the locked one is short too: what changed meanwhile is a part of it. */
const SHORT_PASS_BYTES = 16 * 1024;
/** Where changes come as fast as they are written, passes do not get shorter. */
const MAXIMUM_PASSES = 8;

/**
 * Walks over all shards until the bytes written hold every transaction whole or not at all. A `pass` writes all changes
 * that those before it have not written. Where no transaction ended during a pass, it has seen each in all of its
 * shards or in none (ShardLocks.transactions), and is the last. Otherwise the next one follows; after a short one, with
 * all shards locked, as for an EXEC: other threads wait for the time that the changes of a short pass take, some ten
 * microseconds.
 *
 * Yields where a pass does, unless the shards are locked. `size` is how many bytes were written so far.
 */
export function* wholeWalk(engine: Engine, pass: () => Iterable<void>, size: () => number): Generator<void, void> {
  for (let passes = 1; ; passes++) {
    const { transactions } = engine;
    const sizeBefore = size();
    yield* pass();
    if (engine.transactions === transactions) return;
    if (size() - sizeBefore <= SHORT_PASS_BYTES || passes === MAXIMUM_PASSES) break;
  }
  engine.lockAll();
  try {
    for (const _ of pass());
  } finally {
    engine.unlock();
  }
}
