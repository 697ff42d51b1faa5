import type { ByteInput } from '../memory/byte-input.js';
import type { Engine } from './engine.js';

/**
 * What this node may spend of a quota cell at once. A local balance hangs off the cell's key and is known to this node alone: it
 * neither replicates nor reaches the disk. What is in it was marked as spent before (the cell's own component), so losing it
 * wastes tokens and never spends one twice.
 *
 * A local balance is open between `open` and `close`, under the lock of its shard.
 */
export class LocalBalances {
  private readonly engine: Engine;
  private at = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** False where the cell has no local balance here. Close it in any case. */
  open(input: ByteInput, start: number, length: number): boolean {
    this.engine.openAny(input, start, length);
    this.at = this.engine.localBalance(false);
    return this.at !== 0;
  }

  close(): void {
    this.at = 0;
    this.engine.close();
  }

  /** Tokens that may be spent now. */
  get balance(): number {
    return this.at === 0 ? 0 : this.engine.store.numbers[(this.at + 2) >>> 1];
  }

  /** Tokens that this node holds and has not marked yet. */
  get reserve(): number {
    return this.at === 0 ? 0 : this.engine.store.numbers[(this.at + 4) >>> 1];
  }

  /** With fewer tokens than this it is time to ask for more. */
  get lowWatermark(): number {
    return this.at === 0 ? 0 : this.engine.store.numbers[(this.at + 6) >>> 1];
  }

  /** Until then nobody has anything to give: whoever asks is told so without asking around. */
  get deniedUntilMs(): number {
    return this.at === 0 ? 0 : this.engine.store.numbers[(this.at + 8) >>> 1];
  }

  /** Spends, if there is enough. */
  take(cost: number): boolean {
    const { numbers } = this.engine.store;
    const balanceAt = (this.at + 2) >>> 1;
    if (this.at === 0 || numbers[balanceAt] < cost) return false;
    numbers[balanceAt] -= cost;
    return true;
  }

  /** Puts tokens in, or takes them out with a negative amount; makes the local balance. False where memory is full. */
  give(amount: number): boolean {
    if (this.at === 0) this.at = this.engine.localBalance(true);
    if (this.at === 0) return false;
    this.engine.store.numbers[(this.at + 2) >>> 1] += amount;
    return true;
  }

  /** Makes the local balance, if need be and there is memory. */
  denyUntil(atMs: number): void {
    if (this.at === 0 && atMs !== 0) this.at = this.engine.localBalance(true);
    if (this.at !== 0) this.engine.store.numbers[(this.at + 8) >>> 1] = atMs;
  }

  note(reserve: number, lowWatermark: number): void {
    if (this.at === 0) return;
    const { numbers } = this.engine.store;
    numbers[(this.at + 4) >>> 1] = reserve;
    numbers[(this.at + 6) >>> 1] = lowWatermark;
  }
}
