import type { Engine } from '../keys/engine.js';
import { StemWord, stemOf } from '../memory/key-bytes.js';
import { SHARD_STEM_CHAINS, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Stems } from '../memory/stems.js';
import type { Reached } from './check-pages.js';

/** Every stem is in a chain of its shard and counts the records that name it. */
export function checkStems(
  engine: Engine,
  shard: number,
  records: ReadonlySet<number>,
  problems: string[],
  reached: Reached[],
): void {
  const { memory } = engine.store;
  const uses = new Map<number, number>();
  for (const record of records) {
    const stem = stemOf(memory, record);
    if (stem !== 0) uses.set(stem, (uses.get(stem) ?? 0) + 1);
  }
  for (let chain = 0; chain < SHARD_STEM_CHAINS; chain++) {
    let stem = linkAt(memory, shard + ShardWord.stemChains + chain);
    for (; stem !== 0; stem = linkAt(memory, stem + StemWord.next)) {
      reached.push({ shard, address: stem, words: Stems.words(memory, stem) });
      const said = memory[stem + StemWord.uses];
      if (said !== (uses.get(stem) ?? 0))
        problems.push(`stem ${stem} has ${uses.get(stem) ?? 0} uses and says ${said}`);
      uses.delete(stem);
    }
  }
  for (const stem of uses.keys()) problems.push(`stem ${stem} is used and in no chain of its shard`);
}
