import { HeaderWord } from './layout.js';

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

/** A thread that sleeps looks this often whether a script keeps the lock for long. */
const LOOK_MS = 20;
/**
 * A thread that holds other locks meanwhile looks this often whether it has to give way: sooner than tryLock gives up.
 */
const GIVE_WAY_LOOK_MS = 1;
/** How long tryLock sleeps, in looks of a millisecond. A holder of one shard is done long before. */
const TRIES = 20;

/** A script has run for longer than the threshold, and keeps the lock: thrown instead of waiting for its end. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}

/** With `yields`, throws StoreBusy where the lock is not free and a script runs for long (HeaderWord.slowScripts). */
export function takeLock(memory: Int32Array, at: number, yields = false): void {
  if (Atomics.compareExchange(memory, at, FREE, HELD) === FREE || spin(memory, at)) return;
  while (Atomics.exchange(memory, at, CONTENDED) !== FREE) {
    checkSlowScripts(memory, yields);
    Atomics.wait(memory, at, CONTENDED, yields ? LOOK_MS : Number.POSITIVE_INFINITY);
  }
}

/** The same for a thread that holds other locks. False, without the lock, where another thread extends its own. */
export function takeLockOrGiveWay(memory: Int32Array, at: number, yields: boolean): boolean {
  if (Atomics.compareExchange(memory, at, FREE, HELD) === FREE || spin(memory, at)) return true;
  while (Atomics.exchange(memory, at, CONTENDED) !== FREE) {
    checkSlowScripts(memory, yields);
    if (Atomics.load(memory, HeaderWord.extending) > 0) return false;
    Atomics.wait(memory, at, CONTENDED, GIVE_WAY_LOOK_MS);
  }
  return true;
}

function checkSlowScripts(memory: Int32Array, yields: boolean): void {
  if (yields && Atomics.load(memory, HeaderWord.slowScripts) > 0) throw new StoreBusy('a script holds the lock');
}

/** Takes the lock if its holder gives it back within some milliseconds. */
export function tryLock(memory: Int32Array, at: number): boolean {
  if (spin(memory, at)) return true;
  for (let tries = 0; tries < TRIES; tries++) {
    if (Atomics.exchange(memory, at, CONTENDED) === FREE) return true;
    Atomics.wait(memory, at, CONTENDED, 1);
  }
  return false;
}

function spin(memory: Int32Array, at: number): boolean {
  for (let turn = 0; turn < SPINS; turn++) {
    // Looking does not take the cache line away from the holder, as trying does.
    if (Atomics.load(memory, at) === FREE && Atomics.compareExchange(memory, at, FREE, HELD) === FREE) return true;
  }
  return false;
}

export function giveLock(memory: Int32Array, at: number): void {
  if (Atomics.exchange(memory, at, FREE) === CONTENDED) Atomics.notify(memory, at, 1);
}
