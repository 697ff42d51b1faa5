import { Kind, UnpublishedNumber, UnpublishedWord } from '../memory/attachments.js';
import { ByteInput } from '../memory/byte-input.js';
import { TWO_POW_32 } from '../memory/int64.js';
import type { Engine } from './engine.js';

/** An unpublished count (components/unpublished.ts), as the own disk keeps it over a restart. */
export interface UnpublishedCount {
  readonly key: Uint8Array;
  readonly high: number;
  readonly low: number;
  readonly untilMs: number;
  readonly expiresAtMs: number;
}

/** All unpublished counts that still count, a bucket of keys at a time. */
export function* unpublishedCounts(engine: Engine): Generator<UnpublishedCount[], void> {
  const { attachments, memory, table } = engine.store;
  for (let index = 0; index < engine.shardCount; index++) {
    const shard = engine.store.shardAt(index);
    if (attachments.countOf(shard, Kind.unpublished) === 0) continue;
    for (let place = 0; place < TWO_POW_32; ) {
      const counts: UnpublishedCount[] = [];
      place = engine.withShard(shard, () =>
        table.visitBucket(shard, place, (record) => {
          const attachment = attachments.find(record, Kind.unpublished);
          if (attachment === 0) return;
          const untilMs = attachments.numberAt(attachment, UnpublishedNumber.untilMs);
          if (untilMs <= engine.nowMs) return;
          counts.push({
            key: engine.keyOf(record),
            high: memory[attachment + UnpublishedWord.high],
            low: memory[attachment + UnpublishedWord.low],
            untilMs,
            expiresAtMs: attachments.numberAt(attachment, UnpublishedNumber.expiresAtMs),
          });
        }),
      );
      if (counts.length > 0) yield counts;
    }
  }
}

/** Puts a count back, unless its time is over or a region has published the key meanwhile. Memory may be too small. */
export function restoreUnpublished(engine: Engine, count: UnpublishedCount): void {
  const { key, high, low, untilMs, expiresAtMs } = count;
  if (untilMs <= engine.nowMs) return;
  engine.open(ByteInput.copyOf(key), 0, key.length);
  if (engine.hasNoComponents) engine.addUnpublished(high, low, untilMs, expiresAtMs);
  engine.close();
}
