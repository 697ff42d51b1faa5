import { Engine, ORIGIN_ID_BYTES } from '@quotadb/engine';
import { type Definition, Leases, Operations, PolicyBook, TokenBroker, type UsageRecorder } from '@quotadb/quota';
import { Attempts, Decider, type Decision, type Item, isRefusal } from '../index.js';

/** Where the clock of a node begins, which is where a minute does. */
export const START_MS = Date.UTC(2026, 0, 1);

const REGION = 'a';

interface LimitNodeOptions {
  readonly maxMemoryBytes?: number;
  readonly shared?: boolean;
  readonly usage?: UsageRecorder;
}

/** One region with everything that decides on limits; a test moves its time. */
export class LimitNode {
  readonly engine: Engine;
  readonly book: PolicyBook;
  readonly attempts: Attempts;
  readonly decider: Decider;
  readonly operations: Operations;
  readonly leases: Leases;
  nowMs = START_MS;

  constructor(options: LimitNodeOptions = {}) {
    const origin = new Uint8Array(ORIGIN_ID_BYTES).fill(1);
    this.engine = Engine.format({
      maxMemoryBytes: options.maxMemoryBytes ?? 16 * 1024 * 1024,
      shardCount: 8,
      shared: options.shared ?? false,
      origin,
      nowMs: this.nowMs,
    });
    const { engine } = this;
    const monotonicMs = () => this.nowMs;
    this.book = new PolicyBook({
      home: REGION,
      region: REGION,
      incarnation: 'a1',
      isNewIncarnation: true,
      hasDisk: false,
      nowMs: this.nowMs,
      skewBoundMs: 0,
      isAlone: true,
      save: () => {},
    });
    const { book } = this;
    const peers = { regions: () => [], originOf: () => undefined, send: () => {} };
    const broker = new TokenBroker({ engine, region: REGION, origin, book, peers, skewBoundMs: 0, monotonicMs });
    this.operations = new Operations({ engine, book, broker, monotonicMs });
    let leasesTotal = 0;
    this.leases = new Leases({ operations: this.operations, monotonicMs, newId: () => `lease${++leasesTotal}` });
    const policyOf = (name: string) => book.named(name);
    const surroundings = { engine, policyOf, publishPercent: () => 20, usage: options.usage };
    this.attempts = new Attempts(surroundings);
    this.decider = new Decider({ ...surroundings, operations: this.operations, leases: this.leases, broker });
  }

  define(definition: Pick<Definition, 'name' | 'limit'> & Partial<Definition>): void {
    this.book.define({ windowMs: 60_000, allocator: REGION, shares: [], waitMs: 0, ...definition }, this.nowMs);
  }

  /** Alone and without a disk nothing waits. */
  decide(items: readonly Item[], isPeek = false): Decision {
    const answers: Decision[] = [];
    this.decider.decide({ items, isPeek }, (answer) => {
      if (isRefusal(answer)) throw new Error(`nothing was decided: ${JSON.stringify(answer)}`);
      answers.push(answer);
    });
    if (answers.length !== 1) throw new Error(`${answers.length} answers came at once`);
    return answers[0];
  }

  advance(milliseconds: number): void {
    this.nowMs += milliseconds;
    this.engine.advanceTo(this.nowMs);
    this.leases.tick();
  }
}

/** An item of a request; a minute long where nothing else is said. */
export function item(kind: Item['kind'], name: string, limit: number, more: Partial<Item> = {}): Item {
  return { name, kind, subject: Buffer.from('s'), cost: 1, limit, windowMs: 60_000, shadow: false, ...more };
}
