import type { Batch } from '@quotadb/engine';
import { componentsOf, type Increment } from '@quotadb/engine/testing';
import type { SimulatedNode } from '../world/node.js';
import type { NodeProcess } from '../world/process.js';
import { holdingsOf } from './checks.js';
import type { Oracle, Reset } from './oracle.js';

/** Since an old copy of a node's disk was put back. */
interface Restored {
  /** By shard: how far the copy had come; nothing that was made since was sent before it was confirmed. */
  readonly versions: readonly number[];
  /** The other copy has sent changes that this one does not have. */
  readonly isBehind: boolean;
  /** Made by the other copy, later than this one was made. */
  readonly apart: readonly Increment[];
  /** Made here since. */
  readonly made: Set<Increment>;
  readonly resets: Reset[];
  /** No peer had shown anything of the other copy in time: if one does later, one side's counts are lost. */
  isConfirmed: boolean;
}

/**
 * What the oracle has to know of nodes that go on from an old copy of their disk. Until it is decided whether the copy
 * becomes a new incarnation, what either side has done since may be missing anywhere.
 */
export class RestoredCopies {
  private readonly oracle: Oracle;
  private readonly keys: readonly string[];
  private readonly restored = new Map<SimulatedNode, Restored>();
  /**
   * An old copy went on as the same incarnation, because no peer showed in time what the other had sent: a known gap
   * (docs/consistency.md). From then on values may be no sums of increments, so nothing more is checked.
   */
  isTooLate = false;

  constructor(oracle: Oracle, keys: readonly string[]) {
    this.oracle = oracle;
    this.keys = keys;
  }

  /** Nothing was decided yet: a reset of what the other copy had counted may reach counts of this one. */
  isUndecided({ node }: NodeProcess): boolean {
    return this.restored.get(node)?.isConfirmed === false;
  }

  begin(process: NodeProcess, sent: (shard: number) => number): void {
    const versions = Array.from({ length: process.engine.shardCount }, (_, shard) => process.ownSequence(shard));
    const apart = this.oracle.setApart(process.origin, (shard) => versions[shard]);
    const isBehind = versions.some((version, shard) => version < sent(shard));
    this.restored.set(process.node, { versions, isBehind, apart, made: new Set(), resets: [], isConfirmed: false });
  }

  /** Whether a process sends what it has done since, though nothing was decided yet. */
  isTooEarly(process: NodeProcess, { shardIndex, version, count }: Batch): boolean {
    const sendable = this.restored.get(process.node)?.versions[shardIndex] ?? 0;
    return this.isUndecided(process) && version.subarray(0, count).some((sent) => sent > sendable);
  }

  made({ node }: NodeProcess, increment: Increment): void {
    const restored = this.restored.get(node);
    if (restored === undefined) return;
    restored.made.add(increment);
    if (!restored.isConfirmed) this.oracle.mayBeLost.add(increment);
  }

  reset({ node }: NodeProcess, reset: Reset | undefined): void {
    const restored = this.restored.get(node);
    if (restored === undefined || reset === undefined) return;
    restored.resets.push(reset);
    if (!restored.isConfirmed) reset.state = 'uncertain';
  }

  /** All peers have shown that the copy is not older than what they hold. Returns the regions that have not. */
  confirmed(process: NodeProcess): string[] {
    const restored = this.restored.get(process.node);
    if (restored === undefined || restored.isConfirmed) return [];
    restored.isConfirmed = true;
    if (restored.isBehind) this.isTooLate = true;
    const { members, ownName } = process.replica;
    const older = [...members.values()].filter(({ seen }) =>
      seen.find(ownName)?.some((version, shard) => version > restored.versions[shard]),
    );
    this.settle(restored, holdingsOf(process, this.keys, this.oracle));
    return older.map(({ region }) => region);
  }

  /**
   * The copy is a new incarnation, which has what was done here since, but for what its disk did not have: it had the
   * changes up to these versions.
   */
  carried(process: NodeProcess, running: readonly NodeProcess[], durable: (shard: number) => number): void {
    const restored = this.restored.get(process.node);
    if (restored === undefined) return;
    this.restored.delete(process.node);
    const versionOf = (key: string) =>
      componentsOf(process.engine, key).find(({ origin }) => origin === process.origin)?.version ?? 0;
    for (const key of this.keys)
      for (const { origin, positive, negative } of componentsOf(process.engine, key))
        for (const increment of this.oracle.ledger.inComponent(key, positive, negative))
          if (origin === process.origin && !restored.made.has(increment)) this.oracle.inherited.add(increment);
    const resets = restored.resets.filter(({ version, shard }) => version <= durable(shard));
    this.oracle.carry(restored.made, resets, process.origin, versionOf);
    this.settle({ ...restored, resets }, holdingsOf(process, this.keys, this.oracle));
    const held = running.map((other) => holdingsOf(other, this.keys, this.oracle));
    for (const increment of restored.apart)
      if (held.some((some) => some.has(increment))) this.oracle.mayBeLost.delete(increment);
  }

  /** Its disk is given up, perhaps because peers hold changes of both sides. */
  lost(node: SimulatedNode): void {
    const restored = this.restored.get(node);
    if (restored === undefined) return;
    this.restored.delete(node);
    for (const increment of restored.made) this.oracle.mayBeLost.add(increment);
    for (const reset of restored.resets) if (reset.state === 'holds') reset.state = 'uncertain';
  }

  private settle({ made, resets }: Restored, held: ReadonlySet<Increment>): void {
    for (const increment of made) if (held.has(increment)) this.oracle.mayBeLost.delete(increment);
    for (const reset of resets) if (reset.state === 'uncertain') reset.state = 'holds';
  }
}
