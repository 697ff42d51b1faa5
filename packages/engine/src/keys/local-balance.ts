import { LocalBalanceNumber } from '../memory/attachments.js';
import type { ByteInput } from '../memory/byte-input.js';
import type { KeyPrefix } from '../memory/hash.js';
import type { Engine } from './engine.js';

/**
 * The tokens of a quota that this node may spend at once. A local balance hangs off the allotment's key and is known to
 * this node alone: it neither replicates nor reaches the disk. Its tokens were marked as spent before (the allotment's
 * own component), so losing it wastes tokens and never spends one twice.
 *
 * A local balance is open between `open` and `close`, under the lock of its shard.
 */
export class LocalBalances {
  private readonly engine: Engine;
  private at = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** False where the allotment has no local balance here. Close it in any case. */
  open(input: ByteInput, start: number, length: number): boolean {
    this.engine.openAny(input, start, length);
    this.at = this.engine.localBalance(false);
    return this.at !== 0;
  }

  /** The same of a key whose first bytes were hashed before. */
  openBehind(prefix: KeyPrefix, input: ByteInput, start: number, length: number): boolean {
    this.engine.openBehind(prefix, input, start, length);
    this.at = this.engine.localBalance(false);
    return this.at !== 0;
  }

  close(): void {
    this.at = 0;
    this.engine.close();
  }

  /** Tokens that may be spent now. */
  get balance(): number {
    return this.read(LocalBalanceNumber.balance);
  }

  /** Tokens that this node holds and has not marked yet. */
  get reserve(): number {
    return this.read(LocalBalanceNumber.reserve);
  }

  /** With fewer tokens than this a refill is requested. */
  get lowWatermark(): number {
    return this.read(LocalBalanceNumber.lowWatermark);
  }

  /** Until then no region has tokens to give: a take is denied without asking them. */
  get deniedUntilMs(): number {
    return this.read(LocalBalanceNumber.deniedUntilMs);
  }

  /** Spends, if there is enough. */
  take(cost: number): boolean {
    if (this.at === 0 || this.balance < cost) return false;
    this.write(LocalBalanceNumber.balance, this.balance - cost);
    return true;
  }

  /** Puts tokens in, or takes them out with a negative amount; makes the local balance. False where memory is full. */
  give(amount: number): boolean {
    if (this.at === 0) this.at = this.engine.localBalance(true);
    if (this.at === 0) return false;
    this.write(LocalBalanceNumber.balance, this.balance + amount);
    return true;
  }

  /** Makes the local balance, if need be and there is memory. */
  denyUntil(atMs: number): void {
    if (this.at === 0 && atMs !== 0) this.at = this.engine.localBalance(true);
    if (this.at !== 0) this.write(LocalBalanceNumber.deniedUntilMs, atMs);
  }

  note(reserve: number, lowWatermark: number): void {
    if (this.at === 0) return;
    this.write(LocalBalanceNumber.reserve, reserve);
    this.write(LocalBalanceNumber.lowWatermark, lowWatermark);
  }

  private read(field: number): number {
    return this.at === 0 ? 0 : this.engine.store.attachments.numberAt(this.at, field);
  }

  private write(field: number, value: number): void {
    this.engine.store.attachments.setNumberAt(this.at, field, value);
  }
}
