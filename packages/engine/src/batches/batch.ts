import type { Engine } from '../keys/engine.js';
import { CancelNumber, CancelWord, Kind, NegativeWord } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { uint64At } from '../memory/int64.js';
import { copyKey } from '../memory/key-bytes.js';
import { ORIGIN_ID_BYTES } from '../memory/layout.js';
import { bornOf, Component, isPresent, keyLengthOf, keyRecordOf, versionOf } from '../memory/record.js';

/**
 * A batch: components of one origin in one shard that changed behind a watermark, oldest first. The same thing goes to
 * peers (replication), to a file (the log, snapshots) and to a peer that asks for a gap (repair). It holds absolute
 * state, so applying it twice, late or out of order is harmless.
 *
 * A long walk travels in parts. `start` is the watermark the walk began at, `from` where the part before this one ended
 * (the first part has from = start), `reached` the version of its last component. Only the last part has `to`, a true
 * cut: a replica that has applied every part of the walk in order holds everything of that origin up to `to`.
 *
 * Columns, not objects: a batch is filled and applied thousands of times a second and is reused.
 */
const INITIAL_COMPONENTS = 64;
/** The walk is still below the watermark. */
export const NOT_PASSED = -1;

export class Batch {
  shardIndex = 0;
  origin: Uint8Array = new Uint8Array(ORIGIN_ID_BYTES);
  /** Chosen by the sender, different for each walk. */
  walk = 0;
  start = 0;
  from = 0;
  reached = 0;
  /** A true cut, or 0 in every part but the last. */
  to = 0;
  /** For the sender's next part of the walk: the watermark that it has gone past. Does not travel. */
  passed = NOT_PASSED;

  count = 0;
  keyBytes = new Uint8Array(4096);
  /** Where each key ends in keyBytes. */
  keyEnd = new Uint32Array(INITIAL_COMPONENTS);
  version = new Float64Array(INITIAL_COMPONENTS);
  born = new Float64Array(INITIAL_COMPONENTS);
  present = new Uint8Array(INITIAL_COMPONENTS);
  positiveHigh = new Int32Array(INITIAL_COMPONENTS);
  positiveLow = new Int32Array(INITIAL_COMPONENTS);
  negativeHigh = new Int32Array(INITIAL_COMPONENTS);
  negativeLow = new Int32Array(INITIAL_COMPONENTS);
  /** 0 = never; counts only where `decided` is not 0. */
  expiresAtMs = new Float64Array(INITIAL_COMPONENTS);
  decided = new Float64Array(INITIAL_COMPONENTS);
  floorMs = new Float64Array(INITIAL_COMPONENTS);
  /** Where each component's cancels end in `cancels`. */
  cancelEnd = new Uint32Array(INITIAL_COMPONENTS);
  cancels: Cancel[] = [];
  private input = new ByteInput(this.keyBytes);

  clear(): void {
    this.count = 0;
    this.to = 0;
    this.cancels.length = 0;
  }

  /** One more component, as it is in the store. */
  take(engine: Engine, component: number): void {
    const { store, generations } = engine;
    const { memory, attachments } = store;
    const record = keyRecordOf(memory, component);
    const keyLength = keyLengthOf(memory, record);
    this.reserve(keyLength);
    const index = this.count;
    const keyStart = this.keyStart(index);
    copyKey(memory, record, 0, this.keyBytes, keyStart);
    this.keyEnd[index] = keyStart + keyLength;
    this.version[index] = versionOf(memory, component);
    this.born[index] = bornOf(memory, component);
    this.present[index] = isPresent(memory, component) ? 1 : 0;
    this.positiveHigh[index] = memory[component + Component.positiveHigh];
    this.positiveLow[index] = memory[component + Component.positiveLow];
    if (memory[component + Component.attachments] === 0) {
      this.negativeHigh[index] = 0;
      this.negativeLow[index] = 0;
      this.expiresAtMs[index] = 0;
      this.decided[index] = 0;
      this.floorMs[index] = 0;
      this.cancelEnd[index] = this.cancels.length;
      this.count++;
      return;
    }
    const negative = attachments.find(component, Kind.negative);
    this.negativeHigh[index] = negative === 0 ? 0 : memory[negative + NegativeWord.high];
    this.negativeLow[index] = negative === 0 ? 0 : memory[negative + NegativeWord.low];
    this.expiresAtMs[index] = generations.expiresAt(component);
    this.decided[index] = generations.decidedAt(component);
    this.floorMs[index] = generations.recordedFloor(component);
    for (let at = attachments.find(component, Kind.cancel); at !== 0; at = attachments.nextOfKind(at)) {
      this.cancels.push({
        origin: engine.origins.idOf(attachments.extraOf(at)),
        born: attachments.numberAt(at, CancelNumber.born),
        positive: uint64At(memory, at + CancelWord.positiveLow),
        negative: uint64At(memory, at + CancelWord.negativeLow),
      });
    }
    this.cancelEnd[index] = this.cancels.length;
    this.count++;
  }

  get bytes(): number {
    return this.keyStart(this.count);
  }

  /** The keys, to be looked up where they are. */
  get keyInput(): ByteInput {
    if (this.input.bytes !== this.keyBytes) this.input = new ByteInput(this.keyBytes);
    return this.input;
  }

  keyStart(index: number): number {
    return index === 0 ? 0 : this.keyEnd[index - 1];
  }

  cancelStart(index: number): number {
    return index === 0 ? 0 : this.cancelEnd[index - 1];
  }

  /** Room for one more component with a key of this length; the caller fills the columns at index `count`. */
  reserve(keyLength: number): void {
    if (this.count === this.keyEnd.length) this.growColumns();
    this.reserveKeys(this.bytes + keyLength);
  }

  /** Room for this many components with keys of this many bytes in all. Content stays. */
  reserveAll(components: number, keyBytes: number): void {
    while (this.keyEnd.length < components) this.growColumns();
    this.reserveKeys(keyBytes);
  }

  /** Room for this many bytes of keys in all, and for the bytes that are read beyond the last of them (ByteInput). */
  private reserveKeys(keyBytes: number): void {
    const needed = keyBytes + ByteInput.SLACK_BYTES;
    if (needed <= this.keyBytes.length) return;
    this.keyBytes = grown(this.keyBytes, new Uint8Array(Math.max(needed, this.keyBytes.length * 2)));
  }

  private growColumns(): void {
    const size = this.keyEnd.length * 2;
    this.keyEnd = grown(this.keyEnd, new Uint32Array(size));
    this.version = grown(this.version, new Float64Array(size));
    this.born = grown(this.born, new Float64Array(size));
    this.present = grown(this.present, new Uint8Array(size));
    this.positiveHigh = grown(this.positiveHigh, new Int32Array(size));
    this.positiveLow = grown(this.positiveLow, new Int32Array(size));
    this.negativeHigh = grown(this.negativeHigh, new Int32Array(size));
    this.negativeLow = grown(this.negativeLow, new Int32Array(size));
    this.expiresAtMs = grown(this.expiresAtMs, new Float64Array(size));
    this.decided = grown(this.decided, new Float64Array(size));
    this.floorMs = grown(this.floorMs, new Float64Array(size));
    this.cancelEnd = grown(this.cancelEnd, new Uint32Array(size));
  }
}

/** The part that a reset had observed of one generation of another origin. Rare, so an object. */
export interface Cancel {
  readonly origin: Uint8Array;
  readonly born: number;
  readonly positive: bigint;
  readonly negative: bigint;
}

function grown<T extends { set(source: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}
