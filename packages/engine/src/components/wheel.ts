import { Kind } from '../memory/attachments.js';
import { Shard } from '../memory/layout.js';
import type { Store } from '../memory/store.js';

/**
 * A hierarchical timing wheel per shard: six levels of 64 slots, level k in steps of 64^k ticks. A key with an expiry is
 * in one slot, linked through its expiry attachment. Readers never depend on the wheel (an expired key is hidden by its
 * time); it only gives memory back, so a tick may be coarse and the work of a turn is bounded: a turn that runs out of
 * budget stops in mid-slot, and the next one goes on there.
 *
 * `tick` in the shard's header is the first tick not done yet. A slot of level k is emptied into lower levels when the
 * tick reaches its start. Levels that are empty are jumped over, so a quiet year costs nothing.
 */
const LEVELS = 6;
const SLOTS = 64;
const TICK_MS = 64;
const SPANS = Array.from({ length: LEVELS + 1 }, (_, level) => SLOTS ** level);

/** In an expiry attachment. */
const PREVIOUS = 6;
const NEXT = 7;

export class Wheel {
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  format(shard: number, nowMs: number): void {
    this.store.numbers[(shard >>> 1) + Shard.wheelTickNumber] = Math.floor(nowMs / TICK_MS);
  }

  /** Puts a key, whose record has an expiry attachment, where its deadline belongs; moves it if it was elsewhere. */
  arm(shard: number, record: number, deadlineMs: number): void {
    const { memory, numbers, attachments } = this.store;
    this.disarm(shard, record);
    const attachment = attachments.find(record, Kind.expiry);
    const current = numbers[(shard >>> 1) + Shard.wheelTickNumber];
    const tick = Math.min(Math.max(Math.ceil(deadlineMs / TICK_MS), current), current + SPANS[LEVELS] - 1);
    let level = 0;
    while (tick - current >= SPANS[level + 1]) level++;
    const slot = level * SLOTS + (Math.floor(tick / SPANS[level]) % SLOTS);
    const head = shard + Shard.wheelHeads + slot;
    const first = memory[head];
    memory[attachment + PREVIOUS] = 0;
    memory[attachment + NEXT] = first;
    if (first !== 0) memory[attachments.find(first, Kind.expiry) + PREVIOUS] = record;
    memory[head] = record;
    memory[shard + Shard.wheelBitmaps + (slot >>> 5)] |= 1 << (slot & 31);
    attachments.setExtra(attachment, slot + 1);
    memory[shard + Shard.withExpiry]++;
  }

  disarm(shard: number, record: number): void {
    const { memory, attachments } = this.store;
    const attachment = attachments.find(record, Kind.expiry);
    if (attachment === 0 || attachments.extraOf(attachment) === 0) return;
    const slot = attachments.extraOf(attachment) - 1;
    const previous = memory[attachment + PREVIOUS];
    const next = memory[attachment + NEXT];
    if (previous !== 0) memory[attachments.find(previous, Kind.expiry) + NEXT] = next;
    else memory[shard + Shard.wheelHeads + slot] = next;
    if (next !== 0) memory[attachments.find(next, Kind.expiry) + PREVIOUS] = previous;
    if (previous === 0 && next === 0) memory[shard + Shard.wheelBitmaps + (slot >>> 5)] &= ~(1 << (slot & 31));
    attachments.setExtra(attachment, 0);
    memory[shard + Shard.withExpiry]--;
  }

  /**
   * Turns the wheel up to now, giving each key that is due to `expire` (which must disarm or drop it), at most `budget`
   * steps of work. Returns what is left of the budget: 0 means there is more to do.
   */
  turn(
    shard: number,
    nowMs: number,
    budget: number,
    deadlineOf: (shard: number, record: number) => number,
    expire: (shard: number, record: number) => void,
  ): number {
    const { memory, numbers } = this.store;
    const tickAt = (shard >>> 1) + Shard.wheelTickNumber;
    const last = Math.floor(nowMs / TICK_MS);
    let left = budget;
    while (numbers[tickAt] <= last) {
      const tick = numbers[tickAt];
      for (let level = LEVELS - 1; level >= 1; level--) {
        if (tick % SPANS[level] !== 0) continue;
        const head = shard + Shard.wheelHeads + level * SLOTS + (Math.floor(tick / SPANS[level]) % SLOTS);
        for (; memory[head] !== 0; left--) {
          if (left === 0) return 0;
          this.arm(shard, memory[head], deadlineOf(shard, memory[head]));
        }
      }
      const head = shard + Shard.wheelHeads + (tick % SLOTS);
      for (; memory[head] !== 0; left--) {
        if (left === 0) return 0;
        expire(shard, memory[head]);
      }
      numbers[tickAt] = Math.min(this.nextTick(shard, tick), last + 1);
    }
    return left;
  }

  /** The next tick at which anything can be due: past as many levels as are empty. */
  private nextTick(shard: number, tick: number): number {
    const memory = this.store.memory;
    const bitmaps = shard + Shard.wheelBitmaps;
    let level = 0;
    while (level < LEVELS - 1 && (memory[bitmaps + level * 2] | memory[bitmaps + level * 2 + 1]) === 0) level++;
    return level === 0 ? tick + 1 : (Math.floor(tick / SPANS[level]) + 1) * SPANS[level];
  }
}
