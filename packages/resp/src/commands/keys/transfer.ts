import { ByteInput, type Engine, Status } from '@quotadb/engine';
import { type KeyState, withKey, writeState } from './key-state.js';

/**
 * A key's value and expiry written to another key, for RENAME, COPY and MOVE; nothing of it is seen in part by another
 * client of this node. To the other regions it is an assignment of the target and, where the source goes, an observed
 * reset of the source: what they count meanwhile stays with the key that they counted in.
 */
export const Transferred = { Done: 0, NoSource: 1, TargetExists: 2, Refused: 3 } as const;
export type Transferred = (typeof Transferred)[keyof typeof Transferred];

export interface TransferOptions {
  /** Whether a target that exists is overwritten. */
  readonly replaces: boolean;
  /** Whether the source is deleted. */
  readonly moves: boolean;
}

export class KeyTransfer {
  /** Why it was refused. */
  status: Status = Status.Ok;
  private readonly engine: Engine;
  private readonly input: ByteInput;
  private readonly starts: Int32Array;
  private readonly lengths: Int32Array;
  private readonly isSameKey: boolean;

  constructor(engine: Engine, source: Uint8Array, target: Uint8Array) {
    this.engine = engine;
    this.input = ByteInput.copyOf(Buffer.concat([source, target]));
    this.starts = Int32Array.of(0, source.length);
    this.lengths = Int32Array.of(source.length, target.length);
    this.isSameKey = Buffer.compare(source, target) === 0;
  }

  run(options: TransferOptions): Transferred {
    const { engine, input, starts, lengths } = this;
    engine.lockKeys(input, starts, lengths, 0, 2, 1);
    try {
      return this.runLocked(options);
    } finally {
      engine.unlock();
    }
  }

  private runLocked({ replaces, moves }: TransferOptions): Transferred {
    const source = this.with(SOURCE, (state) => state);
    if (!source.exists) return Transferred.NoSource;
    if (this.isSameKey) return replaces ? Transferred.Done : Transferred.TargetExists;
    if (moves && this.isGrowOnly(SOURCE)) return this.refused(Status.GrowOnly);
    const before = this.with(TARGET, (state) => state);
    if (before.exists && !replaces) return Transferred.TargetExists;
    const written = this.with(TARGET, () => writeState(this.engine, source));
    if (written !== Status.Ok) return this.refused(written);
    const removed = moves ? this.with(SOURCE, () => this.engine.remove()) : Status.Ok;
    if (removed === Status.Ok) return Transferred.Done;
    // A reset takes a little memory, and none was left.
    this.with(TARGET, () => writeState(this.engine, before));
    return this.refused(removed);
  }

  private refused(status: Status): Transferred {
    this.status = status;
    return Transferred.Refused;
  }

  private isGrowOnly(which: number): boolean {
    return this.engine.growOnly.covers(this.input, this.starts[which], this.lengths[which]);
  }

  private with<Result>(which: number, work: (state: KeyState) => Result): Result {
    return withKey(this.engine, this.input, this.starts[which], this.lengths[which], work);
  }
}

const SOURCE = 0;
const TARGET = 1;
