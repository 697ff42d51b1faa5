import type { Engine } from '../keys/engine.js';
import { CancelNumber, Kind } from '../memory/attachments.js';
import { bornOf, isPresent, originIndexOf, versionOf } from '../memory/record.js';
import { inputOf } from './single-key.js';

/** A component as a store holds it, whether it counts or not. */
export interface HeldComponent {
  readonly origin: string;
  readonly version: number;
  readonly born: number;
  readonly present: boolean;
  readonly positive: bigint;
  readonly negative: bigint;
  readonly expiresAtMs: number;
  readonly decided: number;
  readonly floorMs: number;
  readonly cancels: readonly string[];
}

export function nameOfOrigin(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}

/** The record of a key, or 0. */
export function recordOf(engine: Engine, key: string | Uint8Array): { shard: number; record: number } {
  const { store } = engine;
  const { input, length } = inputOf(key);
  const shard = store.shardOf(input, 0, length);
  return { shard, record: store.table.find(shard, input, 0, length) };
}

/** Every component that a store holds of a key, own first. */
export function componentsOf(engine: Engine, key: string | Uint8Array): HeldComponent[] {
  const { store, generations, origins } = engine;
  const { memory, attachments } = store;
  const held: HeldComponent[] = [];
  const { record } = recordOf(engine, key);
  for (let at = record; at !== 0; at = generations.nextComponent(record, at)) {
    if (versionOf(memory, at) === 0) continue;
    const cancels: string[] = [];
    for (let cancel = attachments.find(at, Kind.cancel); cancel !== 0; cancel = attachments.nextOfKind(cancel)) {
      const of = nameOfOrigin(origins.idOf(attachments.extraOf(cancel)));
      cancels.push(`${of}@${attachments.numberAt(cancel, CancelNumber.born)}`);
    }
    held.push({
      origin: nameOfOrigin(origins.idOf(originIndexOf(memory, at))),
      version: versionOf(memory, at),
      born: bornOf(memory, at),
      present: isPresent(memory, at),
      positive: generations.positiveOf(at),
      negative: generations.negativeOf(at),
      expiresAtMs: generations.expiresAt(at),
      decided: generations.decidedAt(at),
      floorMs: generations.recordedFloor(at),
      cancels,
    });
  }
  return held;
}
