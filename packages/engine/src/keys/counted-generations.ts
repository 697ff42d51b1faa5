import type { ByteInput } from '../memory/byte-input.js';
import { bornOf, isPresent, originIndexOf, versionOf } from '../memory/record.js';
import type { Engine } from './engine.js';

/** The counts of one origin in its present generation of a key, whether or not a reader still sees it. */
export interface CountedGeneration {
  /** The origin by its place in this store; `engine.origins.idOf` has its name. */
  readonly originIndex: number;
  readonly version: number;
  /** Which generation it is: generations of one origin and key are born one after another. */
  readonly born: number;
  /** P and N: the sums of increments and decrements, unsigned. Inside one generation they only grow. */
  readonly positive: bigint;
  readonly negative: bigint;
}

/**
 * The generations of a key whose version is not the one that is known of their origin. Reads and changes nothing; a key
 * that has not changed costs a look-up and no allocation but the empty list.
 *
 * Generations that others reset or that have expired are included as long as they are held: this serves those who keep
 * account of every increment, not of the counter's value.
 */
export function countedGenerations(
  engine: Engine,
  input: ByteInput,
  start: number,
  length: number,
  known: ReadonlyMap<number, number>,
): CountedGeneration[] {
  const { store, generations } = engine;
  const shard = store.shardOf(input, start, length);
  return engine.withShard(shard, () => {
    const { memory } = store;
    const found: CountedGeneration[] = [];
    const record = store.table.find(shard, input, start, length);
    for (let at = record; at !== 0; at = generations.nextComponent(record, at)) {
      const version = versionOf(memory, at);
      const originIndex = originIndexOf(memory, at);
      if (version === 0 || !isPresent(memory, at) || known.get(originIndex) === version) continue;
      found.push({
        originIndex,
        version,
        born: bornOf(memory, at),
        positive: generations.positiveOf(at),
        negative: generations.negativeOf(at),
      });
    }
    return found;
  });
}
