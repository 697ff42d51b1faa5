/**
 * A lock is one word: 0 free, 1 held, 2 held with a thread asleep on it. Taking a free lock is one compare-exchange.
 * A holder never waits for anything while it holds a shard's lock, so spinning a little almost always suffices;
 * after that the thread sleeps in the kernel (a lane may; the engine is never used where sleeping is forbidden).
 */
const FREE = 0;
const HELD = 1;
const CONTENDED = 2;

/** About twenty microseconds: longer than a change or a part of a walk takes, shorter than a sleep and a wake-up. */
const SPINS = 1500;

export function takeLock(memory: Int32Array, at: number): void {
  if (Atomics.compareExchange(memory, at, FREE, HELD) === FREE) return;
  for (let spin = 0; spin < SPINS; spin++) {
    // Looking does not take the cache line away from the holder, as trying does.
    if (Atomics.load(memory, at) === FREE && Atomics.compareExchange(memory, at, FREE, HELD) === FREE) return;
  }
  while (Atomics.exchange(memory, at, CONTENDED) !== FREE) Atomics.wait(memory, at, CONTENDED);
}

export function giveLock(memory: Int32Array, at: number): void {
  if (Atomics.exchange(memory, at, FREE) === CONTENDED) Atomics.notify(memory, at, 1);
}
