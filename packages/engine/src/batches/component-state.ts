import type { Engine } from '../keys/engine.js';
import { joinUint64, splitInt64 } from '../memory/int64.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { Batch, type Cancel } from './batch.js';
import { batchOfKeys } from './walk.js';

/** One component as an object: for work that is rare, and compares two. */
export interface ComponentState {
  readonly key: Uint8Array;
  readonly version: number;
  readonly born: number;
  readonly present: boolean;
  readonly positive: bigint;
  readonly negative: bigint;
  /** 0 = never; counts only where `decided` is not 0. */
  readonly expiresAtMs: number;
  readonly decided: number;
  readonly floorMs: number;
  readonly cancels: readonly Cancel[];
}

export function stateIn(batch: Batch, index: number): ComponentState {
  return {
    key: batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]),
    version: batch.version[index],
    born: batch.born[index],
    present: batch.present[index] === 1,
    positive: joinUint64(batch.positiveHigh[index], batch.positiveLow[index]),
    negative: joinUint64(batch.negativeHigh[index], batch.negativeLow[index]),
    expiresAtMs: batch.expiresAtMs[index],
    decided: batch.decided[index],
    floorMs: batch.floorMs[index],
    cancels: batch.cancels.slice(batch.cancelStart(index), batch.cancelEnd[index]),
  };
}

/** A store's own component of a key; undefined where it has none. */
export function findOwn(engine: Engine, shard: number, key: Uint8Array): ComponentState | undefined {
  const batch = batchOfKeys(engine, shard, OWN_ORIGIN, [key], Number.POSITIVE_INFINITY, found);
  return batch.count === 0 ? undefined : stateIn(batch, 0);
}

const found = new Batch();

/** Adds a component to the end of a batch. */
export function putComponent(batch: Batch, state: ComponentState): void {
  batch.reserve(state.key.length);
  const index = batch.count;
  const keyStart = batch.keyStart(index);
  batch.keyBytes.set(state.key, keyStart);
  batch.keyEnd[index] = keyStart + state.key.length;
  batch.version[index] = state.version;
  batch.born[index] = state.born;
  batch.present[index] = state.present ? 1 : 0;
  [batch.positiveHigh[index], batch.positiveLow[index]] = splitInt64(state.positive);
  [batch.negativeHigh[index], batch.negativeLow[index]] = splitInt64(state.negative);
  batch.expiresAtMs[index] = state.expiresAtMs;
  batch.decided[index] = state.decided;
  batch.floorMs[index] = state.floorMs;
  batch.cancels.push(...state.cancels);
  batch.cancelEnd[index] = batch.cancels.length;
  batch.count++;
}
