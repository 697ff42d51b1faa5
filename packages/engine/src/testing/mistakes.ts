import type { Batch } from '../batches/batch.js';
import type { Applied } from '../batches/merge.js';
import { CancelWord, Kind } from '../memory/attachments.js';
import type { ByteInput } from '../memory/byte-input.js';
import { OriginShardNumber, ShardNumber } from '../memory/layout.js';
import { bornOf, Component, versionOf } from '../memory/record.js';
import type { ScheduleNode } from './schedule-node.js';

/** Mistakes to plant into a node, each one that an engineer could make: tests have to find them. */
export interface Mistake {
  readonly name: string;
  /** Shows only where expiries are set. */
  readonly needsExpiry?: boolean;
  readonly keepIncarnation?: boolean;
  plant?(node: Plantable): void;
}

export type Plantable = Pick<ScheduleNode, 'engine' | 'merge'>;

type MergeComponent = (
  shard: number,
  state: number,
  origin: number,
  batch: Batch,
  index: number,
  input: ByteInput,
) => Applied;

function originalOf<T>(owner: object, method: string): T {
  return Reflect.get(owner, method).bind(owner);
}

export const MISTAKES: readonly Mistake[] = [
  {
    name: 'a watermark moves at the end of a walk of which parts are missing',
    plant({ merge, engine }) {
      const moveWatermark = (batch: Batch, _origin: number, seenAt: number) => {
        engine.store.numbers[seenAt] = Math.max(engine.store.numbers[seenAt], batch.to);
      };
      Object.assign(merge, { moveWatermark });
    },
  },
  {
    name: 'a watermark moves with every part of a walk',
    plant({ merge, engine }) {
      const moveWatermark = (batch: Batch, _origin: number, seenAt: number) => {
        engine.store.numbers[seenAt] = Math.max(engine.store.numbers[seenAt], batch.to, batch.reached);
      };
      Object.assign(merge, { moveWatermark });
    },
  },
  {
    name: 'an older component takes the place of a newer one',
    plant({ merge, engine }) {
      const original = originalOf<MergeComponent>(merge, 'mergeComponent');
      const { store, generations } = engine;
      const mergeComponent: MergeComponent = (shard, state, origin, batch, index, input) => {
        const start = batch.keyStart(index);
        const length = batch.keyEnd[index] - start;
        store.hash.ofInput(input, start, length);
        const record = store.table.find(shard, input, start, length);
        const held = record === 0 ? 0 : generations.findForeign(record, origin);
        if (held !== 0 && versionOf(store.memory, held) > batch.version[index]) {
          engine.records.dropForeign(shard, record, held);
          return withSeen(store.numbers, state, 0, () => original(shard, state, origin, batch, index, input));
        }
        return original(shard, state, origin, batch, index, input);
      };
      Object.assign(merge, { mergeComponent });
    },
  },
  {
    name: 'a superseded component is let in again',
    plant({ merge, engine }) {
      const original = originalOf<MergeComponent>(merge, 'mergeComponent');
      const mergeComponent: MergeComponent = (shard, state, ...rest) =>
        withSeen(engine.store.numbers, state, 0, () => original(shard, state, ...rest));
      Object.assign(merge, { mergeComponent });
    },
  },
  {
    name: 'a late change of a generation that is over is added to the next one',
    plant({ merge, engine }) {
      const original = originalOf<MergeComponent>(merge, 'mergeComponent');
      const { store, generations } = engine;
      const mergeComponent: MergeComponent = (shard, state, origin, batch, index, input) => {
        const start = batch.keyStart(index);
        const length = batch.keyEnd[index] - start;
        store.hash.ofInput(input, start, length);
        const record = store.table.find(shard, input, start, length);
        const held = record === 0 ? 0 : generations.findForeign(record, origin);
        if (held !== 0 && batch.present[index] === 1 && bornOf(store.memory, held) > batch.born[index]) {
          store.memory[held + Component.positiveLow] += batch.positiveLow[index];
          engine.records.refreshKey(shard, record);
        }
        return original(shard, state, origin, batch, index, input);
      };
      Object.assign(merge, { mergeComponent });
    },
  },
  { name: 'a node that lost its memory takes up its old identity', keepIncarnation: true },
  {
    name: 'a reset cancels more of a generation than was seen of it',
    plant({ engine }) {
      const original = originalOf<(shard: number, record: number) => boolean>(engine.ownGeneration, 'cancelForeign');
      const cancelForeign = (shard: number, record: number) => {
        const done = original(shard, record);
        const { memory, attachments } = engine.store;
        for (let at = attachments.find(record, Kind.cancel); at !== 0; at = attachments.nextOfKind(at))
          memory.fill(-1, at + CancelWord.positiveLow, at + CancelWord.negativeHigh + 1);
        return done;
      };
      Object.assign(engine.ownGeneration, { cancelForeign });
    },
  },
  {
    name: 'a generation is ended when a part of it was cancelled',
    plant({ engine }) {
      const isWhollyCancelled = (record: number, component: number) =>
        engine.generations.cancelled(record, component) !== null;
      Object.assign(engine.generations, { isWhollyCancelled });
    },
  },
  {
    name: 'an empty component is dropped before every replica has seen it',
    plant({ engine }) {
      const original = originalOf<(shard: number, version: number) => void>(engine.garbageCollection, 'acknowledge');
      Object.assign(engine.garbageCollection, {
        acknowledge: (shard: number) => original(shard, engine.seen(shard, 0)),
      });
    },
  },
  {
    name: 'an expired generation is dropped before every replica has seen its expiry',
    needsExpiry: true,
    plant({ engine }) {
      const original = originalOf<(shard: number, ...rest: unknown[]) => void>(engine.expiry, 'dropExpired');
      const dropExpired = (shard: number, ...rest: unknown[]) => {
        const { numbers } = engine.store;
        const at = (shard >>> 1) + ShardNumber.acknowledged;
        const acknowledged = numbers[at];
        numbers[at] = Number.POSITIVE_INFINITY;
        original(shard, ...rest);
        numbers[at] = acknowledged;
      };
      Object.assign(engine.expiry, { dropExpired });
    },
  },
  {
    name: 'a generation does not outlive an expiry that arrived too late',
    needsExpiry: true,
    plant({ engine }) {
      const original = originalOf<(shard: number, record: number) => void>(engine.ownGeneration, 'end');
      Object.assign(engine.ownGeneration, { outlive: (shard: number, record: number) => original(shard, record) });
    },
  },
];

function withSeen<T>(numbers: Float64Array, state: number, seen: number, work: () => T): T {
  const at = (state >>> 1) + OriginShardNumber.seen;
  const kept = numbers[at];
  numbers[at] = seen;
  try {
    return work();
  } finally {
    numbers[at] = kept;
  }
}
