import type { ByteInput } from './byte-input.js';
import type { Engine } from './engine.js';
import { bornOf, isPresent, originIndexOf, versionOf } from './record.js';

/** What one origin has counted in its present life of a key, whether or not a reader still sees it. */
export interface CountedLife {
  /** The origin by its place in this store; `engine.origins.idOf` has its name. */
  readonly originIndex: number;
  readonly version: number;
  /** Which life it is: lives of one origin and key are born one after another. */
  readonly born: number;
  /** P and N: what was added and subtracted in all, unsigned. Inside one life they only grow. */
  readonly positive: bigint;
  readonly negative: bigint;
}

/**
 * The lives of a key whose version is not the one that is known of their origin. Reads and changes nothing; a key that
 * has not changed costs a look-up and no allocation but the empty list.
 *
 * Lives that were reset by others or have expired are told of too as long as they are held: this is for those who keep
 * account of everything that was counted, not of what the counter says.
 */
export function countedLives(
  engine: Engine,
  input: ByteInput,
  start: number,
  length: number,
  known: ReadonlyMap<number, number>,
): CountedLife[] {
  const { store, lives } = engine;
  store.hash.ofInput(input, start, length);
  const shard = store.shardOfHash();
  return engine.withShard(shard, () => {
    const { memory } = store;
    const found: CountedLife[] = [];
    const record = store.table.find(shard, input, start, length);
    for (let at = record; at !== 0; at = lives.nextHolder(record, at)) {
      const version = versionOf(memory, at);
      const originIndex = originIndexOf(memory, at);
      if (version === 0 || !isPresent(memory, at) || known.get(originIndex) === version) continue;
      found.push({
        originIndex,
        version,
        born: bornOf(memory, at),
        positive: lives.positiveOf(at),
        negative: lives.negativeOf(at),
      });
    }
    return found;
  });
}
