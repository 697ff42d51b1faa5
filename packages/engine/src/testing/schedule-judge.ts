import { checkConsistency } from './check-consistency.js';
import { componentsOf } from './inspect.js';
import type { Increment, Ledger } from './ledger.js';
import type { ScheduleNode } from './schedule-node.js';
import { valueOfOpen, withKey } from './single-key.js';

interface Judged {
  readonly nodes: readonly ScheduleNode[];
  readonly keys: readonly string[];
  readonly ledger: Ledger;
  readonly shardCount: number;
  readonly skewBoundMs: number;
  /** Where the judge adds what it finds. */
  readonly failures: string[];
}

/** Compares what the nodes of a delivery schedule hold with what the ledger says that they must. */
export class ScheduleJudge {
  private readonly judged: Judged;
  private readonly failures: string[];
  private memoriesLost = 0;

  constructor(judged: Judged) {
    this.judged = judged;
    this.failures = judged.failures;
  }

  /** A node is about to lose its memory: increments that no other holds may go with it. */
  noteLoss(node: ScheduleNode): void {
    const { nodes, keys, ledger } = this.judged;
    this.memoriesLost++;
    for (const key of keys) {
      for (const increment of this.heldBy(node, key)) {
        if (!nodes.some((other) => other !== node && this.heldBy(other, key).has(increment)))
          ledger.mayBeLost.add(increment);
      }
    }
    // The new incarnation has seen nothing: batches under way may reach it, and repair sorts that out.
    ledger.gone.clear();
  }

  /** Every node has seen everything: an increment that none holds now is gone, if its maker still runs. */
  noteGone(): void {
    const { nodes, keys, ledger } = this.judged;
    for (const key of keys) {
      const held = new Set(nodes.flatMap((node) => [...this.heldBy(node, key)]));
      for (const increment of ledger.of(key))
        if (!held.has(increment) && this.isAlive(increment.madeBy)) ledger.gone.add(increment);
    }
  }

  /** No batch under way may bring back an increment that is gone. */
  findRisen(): void {
    const { nodes, keys, ledger } = this.judged;
    for (const key of keys) {
      for (const node of nodes) {
        for (const increment of this.heldBy(node, key)) {
          if (ledger.gone.has(increment))
            this.failures.push(`increment ${increment.index} of ${key} came back on ${node.label}`);
        }
      }
    }
  }

  /** When all is healed. */
  judge(nowMs: number): void {
    const { nodes, keys } = this.judged;
    for (const node of nodes) checkConsistency(node.engine);
    for (const key of keys) this.judgeKey(key, nowMs);
    for (const node of nodes) {
      const { removedKeysRetained } = node.engine.stats();
      // What says that something of a lost incarnation is over has to stay: that incarnation will not take it back.
      if (this.memoriesLost === 0 && removedKeysRetained > 0)
        this.failures.push(`${node.label} keeps ${removedKeysRetained} records of keys that are gone`);
    }
    this.compareDigests();
  }

  private compareDigests(): void {
    const { nodes, shardCount } = this.judged;
    const origins = new Set(nodes.flatMap((node) => node.knownOrigins()));
    for (const origin of origins) {
      for (let shard = 0; shard < shardCount; shard++) {
        const digests = nodes.map((node) => node.digestOf(shard, origin));
        if (new Set(digests).size > 1)
          this.failures.push(`origin ${origin.slice(0, 2)}.${origin.slice(32, 34)}: digests differ: ${digests}`);
      }
    }
  }

  private judgeKey(key: string, nowMs: number): void {
    const { nodes, ledger, skewBoundMs } = this.judged;
    const readings = nodes.map(({ engine }) =>
      withKey(engine, key, () => `${engine.exists} ${valueOfOpen(engine)} ${engine.expiresAtMs}`),
    );
    if (new Set(readings).size > 1) {
      this.failures.push(`${key}: replicas differ: ${readings.join(' | ')}`);
      return;
    }
    const { engine } = nodes[0];
    const counted = ledger.read(
      key,
      withKey(engine, key, () => valueOfOpen(engine)),
    );
    if (typeof counted === 'string') {
      this.failures.push(counted);
      return;
    }
    for (const increment of ledger.of(key)) {
      const counts = counted.includes(increment);
      const excused =
        ledger.reset.has(increment) ||
        ledger.mayBeLost.has(increment) ||
        ledger.mayHaveExpired(increment, nowMs + skewBoundMs, this.isAlive(increment.madeBy));
      if (!counts && !excused) this.failures.push(`increment ${increment.index} of ${key} is lost`);
      // A reset that died with a memory did not happen.
      if (counts && this.memoriesLost === 0 && ledger.reset.has(increment))
        this.failures.push(`increment ${increment.index} of ${key} survived a reset that had seen it`);
    }
  }

  private heldBy(node: ScheduleNode, key: string): Set<Increment> {
    const held = new Set<Increment>();
    for (const { positive, negative } of componentsOf(node.engine, key)) {
      for (const increment of this.judged.ledger.inComponent(key, positive, negative)) held.add(increment);
    }
    return held;
  }

  private isAlive(label: string): boolean {
    return this.judged.nodes.some((node) => node.label === label);
  }
}
