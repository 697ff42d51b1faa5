import { ByteInput, countedGenerations, type Engine } from '@quotadb/engine';
import { allotmentOf, nameOfAllotment } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';

/** By key: all that one origin has added and taken in it. */
type Written = ReadonlyMap<string, { readonly positive: bigint; readonly negative: bigint; readonly name: string }>;

interface Reminted {
  readonly policy: number;
  readonly origin: string;
  readonly by: string;
  readonly known: Written;
}

/**
 * The tokens of a lost origin are counted by what it wrote: the home must have known all of that when it re-minted. So
 * from then on no region holds a change of it that the home did not, whatever arrives late.
 */
export class LostChanges {
  private readonly reminted = new Map<string, Reminted>();

  /**
   * The home has just re-minted what these origins had of a policy. Those that it re-minted before stay as they were.
   */
  note({ engine, label }: NodeProcess, policy: number, origins: readonly string[]): void {
    for (const origin of origins) {
      const name = `${policy}:${origin}`;
      if (!this.reminted.has(name))
        this.reminted.set(name, { policy, origin, by: label, known: writtenBy(engine, policy, origin) });
    }
  }

  find(processes: readonly NodeProcess[]): string[] {
    const faults: string[] = [];
    for (const { policy, origin, by, known } of this.reminted.values())
      for (const { engine, label, node } of processes)
        for (const [key, { positive, negative, name }] of writtenBy(engine, policy, origin)) {
          const before = known.get(key) ?? { positive: 0n, negative: 0n };
          if (positive > before.positive || negative > before.negative)
            faults.push(
              `allotment ${name}: ${label} holds changes of ${node.cluster.nameOf(origin)} ` +
                `that ${by} did not know when it re-minted`,
            );
        }
    return faults;
  }
}

function writtenBy(engine: Engine, policy: number, origin: string): Written {
  const written = new Map<string, { positive: bigint; negative: bigint; name: string }>();
  const index = engine.origins.find(Buffer.from(origin, 'hex'));
  if (index === -1) return written;
  const keys: Uint8Array[] = [];
  engine.visitReserved((key) => {
    if (allotmentOf(key)?.policy === policy) keys.push(Uint8Array.from(key));
  });
  for (const key of keys) {
    const allotment = allotmentOf(key);
    const generations = countedGenerations(engine, ByteInput.copyOf(key), 0, key.length, new Map());
    const own = generations.find(({ originIndex }) => originIndex === index);
    if (own === undefined || allotment === undefined) continue;
    const { positive, negative } = own;
    written.set(Buffer.from(key).toString('hex'), { positive, negative, name: nameOfAllotment(allotment) });
  }
  return written;
}
