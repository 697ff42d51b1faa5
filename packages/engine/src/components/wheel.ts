import { ExpiryWord, Kind } from '../memory/attachments.js';
import { ShardNumber, ShardWord, WHEEL_LEVELS, WHEEL_SLOTS } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import type { Store } from '../memory/store.js';
import { databaseOfRecord } from './reserved.js';

/**
 * A hierarchical timing wheel per shard: six levels of 64 slots, level k in steps of 64^k ticks. A key with an expiry
 * is in one slot, linked through its expiry attachment. Readers never depend on the wheel (an expired key is hidden by
 * its time); it only gives memory back, so a tick may be coarse and the work of a turn is bounded: a turn that runs out
 * of budget stops in mid-slot, and the next one goes on there.
 *
 * `tick` in the shard's header is the first tick not done yet. A slot of level k is emptied into lower levels when the
 * tick reaches its start. Levels that are empty are jumped over, so a quiet year costs nothing.
 */
const TICK_MS = 64;
const SPANS = Array.from({ length: WHEEL_LEVELS + 1 }, (_, level) => WHEEL_SLOTS ** level);

export class Wheel {
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  format(shard: number, nowMs: number): void {
    this.store.numbers[(shard >>> 1) + ShardNumber.wheelTick] = Math.floor(nowMs / TICK_MS);
  }

  /** Puts a key, whose record has an expiry attachment, where its deadline belongs; moves it if it was elsewhere. */
  arm(shard: number, record: number, deadlineMs: number): void {
    const { memory, numbers, attachments } = this.store;
    this.disarm(shard, record);
    const attachment = attachments.find(record, Kind.expiry);
    const current = numbers[(shard >>> 1) + ShardNumber.wheelTick];
    const tick = Math.min(Math.max(Math.ceil(deadlineMs / TICK_MS), current), current + SPANS[WHEEL_LEVELS] - 1);
    let level = 0;
    while (tick - current >= SPANS[level + 1]) level++;
    const slot = level * WHEEL_SLOTS + (Math.floor(tick / SPANS[level]) % WHEEL_SLOTS);
    const head = shard + ShardWord.wheelHeads + slot;
    const first = linkAt(memory, head);
    memory[attachment + ExpiryWord.previous] = 0;
    memory[attachment + ExpiryWord.next] = first;
    if (first !== 0) memory[attachments.find(first, Kind.expiry) + ExpiryWord.previous] = record;
    memory[head] = record;
    memory[shard + ShardWord.wheelBitmaps + (slot >>> 5)] |= 1 << (slot & 31);
    attachments.setExtra(attachment, slot + 1);
    memory[shard + ShardWord.withExpiry]++;
    memory[shard + ShardWord.databaseWithExpiry + databaseOfRecord(memory, record)]++;
  }

  disarm(shard: number, record: number): void {
    const { memory, attachments } = this.store;
    const attachment = attachments.find(record, Kind.expiry);
    if (attachment === 0 || attachments.extraOf(attachment) === 0) return;
    const slot = attachments.extraOf(attachment) - 1;
    const previous = linkAt(memory, attachment + ExpiryWord.previous);
    const next = linkAt(memory, attachment + ExpiryWord.next);
    if (previous !== 0) memory[attachments.find(previous, Kind.expiry) + ExpiryWord.next] = next;
    else memory[shard + ShardWord.wheelHeads + slot] = next;
    if (next !== 0) memory[attachments.find(next, Kind.expiry) + ExpiryWord.previous] = previous;
    if (previous === 0 && next === 0) memory[shard + ShardWord.wheelBitmaps + (slot >>> 5)] &= ~(1 << (slot & 31));
    attachments.setExtra(attachment, 0);
    memory[shard + ShardWord.withExpiry]--;
    memory[shard + ShardWord.databaseWithExpiry + databaseOfRecord(memory, record)]--;
  }

  /**
   * Turns the wheel up to now, giving each key that is due to `expire` (which must disarm or drop it), at most `budget`
   * steps of work. Returns the rest of the budget: 0 means there is more to do.
   */
  turn(
    shard: number,
    nowMs: number,
    budget: number,
    deadlineOf: (shard: number, record: number) => number,
    expire: (shard: number, record: number) => void,
  ): number {
    const { memory, numbers } = this.store;
    const tickAt = (shard >>> 1) + ShardNumber.wheelTick;
    const last = Math.floor(nowMs / TICK_MS);
    let left = budget;
    while (numbers[tickAt] <= last) {
      const tick = numbers[tickAt];
      for (let level = WHEEL_LEVELS - 1; level >= 1; level--) {
        if (tick % SPANS[level] !== 0) continue;
        const head =
          shard + ShardWord.wheelHeads + level * WHEEL_SLOTS + (Math.floor(tick / SPANS[level]) % WHEEL_SLOTS);
        for (; memory[head] !== 0; left--) {
          if (left === 0) return 0;
          const record = linkAt(memory, head);
          this.arm(shard, record, deadlineOf(shard, record));
        }
      }
      const head = shard + ShardWord.wheelHeads + (tick % WHEEL_SLOTS);
      for (; memory[head] !== 0; left--) {
        if (left === 0) return 0;
        expire(shard, linkAt(memory, head));
      }
      numbers[tickAt] = Math.min(this.nextTick(shard, tick), last + 1);
    }
    return left;
  }

  /** The next tick at which anything can be due: past as many levels as are empty. */
  private nextTick(shard: number, tick: number): number {
    const memory = this.store.memory;
    const bitmaps = shard + ShardWord.wheelBitmaps;
    let level = 0;
    while (level < WHEEL_LEVELS - 1 && (memory[bitmaps + level * 2] | memory[bitmaps + level * 2 + 1]) === 0) level++;
    return level === 0 ? tick + 1 : (Math.floor(tick / SPANS[level]) + 1) * SPANS[level];
  }
}
