import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import type { ChangeMark } from './ledger.js';

interface Waiting {
  readonly version: number;
  readonly work: () => void;
}

/** Work that may be done once a change is on disk; without a disk, at once. */
export class DurableQueue {
  /** Undefined where there is no disk. */
  private readonly durable: ((shard: number) => number) | undefined;
  private readonly flushSoon: () => void;
  /** By shard, in the order of their versions. */
  private readonly waiting = new Map<number, Waiting[]>();

  constructor(durable: ((shard: number) => number) | undefined, flushSoon: () => void) {
    this.durable = durable;
    this.flushSoon = flushSoon;
  }

  when({ shard, version }: ChangeMark, work: () => void): void {
    if (this.durable === undefined || this.durable(shard) >= version) {
      work();
      return;
    }
    const queue = this.waiting.get(shard);
    if (queue === undefined) this.waiting.set(shard, [{ version, work }]);
    else queue.push({ version, work });
    this.flushSoon();
  }

  /** When all changes of the own origin so far are on disk. */
  whenAll(engine: Engine, work: () => void): void {
    let left = engine.shardCount;
    const passed = () => {
      if (--left === 0) work();
    };
    for (let shard = 0; shard < engine.shardCount; shard++)
      this.when({ shard, version: engine.seen(shard, OWN_ORIGIN) }, passed);
  }

  /** Does the work whose changes have reached the disk. */
  pass(): void {
    const { durable } = this;
    if (durable === undefined) return;
    for (const [shard, queue] of this.waiting) {
      const version = durable(shard);
      const firstLater = queue.findIndex((waiting) => waiting.version > version);
      const done = queue.splice(0, firstLater === -1 ? queue.length : firstLater);
      if (queue.length === 0) this.waiting.delete(shard);
      for (const { work } of done) work();
    }
  }
}
