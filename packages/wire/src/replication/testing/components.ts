import { Batch, joinInt64, splitInt64 } from '@quotadb/engine';

/** A component of a batch as an object, for tests to write down and compare. */
export interface PlainComponent {
  readonly key: string;
  readonly version: number;
  readonly born: number;
  readonly present: boolean;
  readonly positive: bigint;
  readonly negative: bigint;
  /** Counts where `decided` is not 0. */
  readonly expiresAtMs: number;
  readonly decided: number;
  readonly floorMs: number;
  readonly cancels: readonly PlainCancel[];
}

export interface PlainCancel {
  /** The byte that its origin is full of. */
  readonly origin: number;
  readonly born: number;
  readonly positive: bigint;
  readonly negative: bigint;
}

export interface PlainBatch {
  readonly shard: number;
  readonly origin: number;
  readonly walk: number;
  readonly start: number;
  readonly from: number;
  readonly reached: number;
  readonly to: number;
  readonly components: readonly PlainComponent[];
}

export function originOf(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte);
}

export function toBatch(plain: PlainBatch, batch: Batch = new Batch()): Batch {
  batch.clear();
  batch.shardIndex = plain.shard;
  batch.origin = originOf(plain.origin);
  batch.walk = plain.walk;
  batch.start = plain.start;
  batch.from = plain.from;
  batch.reached = plain.reached;
  batch.to = plain.to;
  for (const component of plain.components) addComponent(batch, component);
  return batch;
}

function addComponent(batch: Batch, component: PlainComponent): void {
  const key = Buffer.from(component.key, 'latin1');
  batch.reserve(key.length);
  const index = batch.count;
  const keyStart = batch.keyStart(index);
  batch.keyBytes.set(key, keyStart);
  batch.keyEnd[index] = keyStart + key.length;
  batch.version[index] = component.version;
  batch.born[index] = component.born;
  batch.present[index] = component.present ? 1 : 0;
  [batch.positiveHigh[index], batch.positiveLow[index]] = splitInt64(component.positive);
  [batch.negativeHigh[index], batch.negativeLow[index]] = splitInt64(component.negative);
  batch.expiresAtMs[index] = component.expiresAtMs;
  batch.decided[index] = component.decided;
  batch.floorMs[index] = component.floorMs;
  for (const cancel of component.cancels) batch.cancels.push({ ...cancel, origin: originOf(cancel.origin) });
  batch.cancelEnd[index] = batch.cancels.length;
  batch.count++;
}

export function fromBatch(batch: Batch): PlainBatch {
  const components: PlainComponent[] = [];
  for (let index = 0; index < batch.count; index++) components.push(componentAt(batch, index));
  return {
    shard: batch.shardIndex,
    origin: batch.origin[0],
    walk: batch.walk,
    start: batch.start,
    from: batch.from,
    reached: batch.reached,
    to: batch.to,
    components,
  };
}

function componentAt(batch: Batch, index: number): PlainComponent {
  const unsigned = (high: number, low: number) => BigInt.asUintN(64, joinInt64(high, low));
  return {
    key: Buffer.from(batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index])).toString('latin1'),
    version: batch.version[index],
    born: batch.born[index],
    present: batch.present[index] === 1,
    positive: unsigned(batch.positiveHigh[index], batch.positiveLow[index]),
    negative: unsigned(batch.negativeHigh[index], batch.negativeLow[index]),
    expiresAtMs: batch.expiresAtMs[index],
    decided: batch.decided[index],
    floorMs: batch.floorMs[index],
    cancels: batch.cancels
      .slice(batch.cancelStart(index), batch.cancelEnd[index])
      .map((cancel) => ({ ...cancel, origin: cancel.origin[0] })),
  };
}
