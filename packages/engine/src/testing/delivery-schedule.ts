import { type Batch, NOT_PASSED } from '../batches/batch.js';
import { Status } from '../keys/status.js';
import { splitInt64 } from '../memory/int64.js';
import { componentsOf } from './inspect.js';
import { Ledger } from './ledger.js';
import { Random } from './random.js';
import { repairFrom } from './repair.js';
import { ScheduleJudge } from './schedule-judge.js';
import { type OpenWalk, ScheduleNode, type SeenReport } from './schedule-node.js';
import { valueOfOpen, withKey } from './single-key.js';

/**
 * A model test of merging: two to four engines change keys, and batches go between them in any order that a seed gives:
 * parts of walks are lost, doubled, late and out of order, relayed and cut off; memories are lost and clocks minutes
 * apart. There is no replication protocol here (packages/simulator runs that): it would never deliver the parts of a
 * walk out of order. When all is healed a judge (schedule-judge.ts) compares the replicas with the oracle (ledger.ts),
 * which says what increments every one must hold. A schedule is replayed by its seed and options.
 */
export interface ScheduleOptions {
  /** Expiries are set, changed and pass; clocks differ. */
  readonly expiry: boolean;
  /** Puts a mistake into a node as it is made: the schedules have to find it. */
  readonly plant?: (node: ScheduleNode) => void;
  /** A node that lost its memory takes up its old identity again: a mistake, for plants. */
  readonly keepIncarnation?: boolean;
}

export interface Outcome {
  readonly failures: readonly string[];
  /** The events, one line each, and the components that every node held in the end: to look into a failing seed. */
  readonly trace: readonly string[];
}

type Message = { readonly to: number; readonly batch?: Batch; readonly report?: SeenReport };

interface DirectedWalk extends OpenWalk {
  readonly origin: string;
  readonly shard: number;
  readonly sender: ScheduleNode;
  readonly receiver: ScheduleNode;
}

const START_MS = Date.UTC(2026, 5, 1);
/**
 * Clocks minutes apart and long expiries, or seconds and short ones: then many generations are over within one
 * schedule.
 */
const PACES = [
  { skewBoundMs: 5 * 60_000, longestExpiryMs: 20 * 60_000 },
  { skewBoundMs: 2000, longestExpiryMs: 20_000 },
] as const;

export function runSchedule(seed: number, options: ScheduleOptions): Outcome {
  return new DeliverySchedule(seed, options).run();
}

class DeliverySchedule {
  private readonly random: Random;
  private readonly options: ScheduleOptions;
  private readonly ledger = new Ledger();
  private readonly nodes: ScheduleNode[] = [];
  private readonly keys: string[];
  private readonly shardCount: number;
  private readonly skewBoundMs: number;
  /** Longer than two clocks can differ. */
  private readonly graceMs: number;
  private readonly longestExpiryMs: number;
  private readonly losesMemory: boolean;
  /** Nodes send components of other origins too. */
  private readonly relays: boolean;
  private readonly wire: Message[] = [];
  private readonly partition = new Set<string>();
  private readonly openWalks = new Map<string, DirectedWalk>();
  private readonly failures: string[] = [];
  private readonly trace: string[] = [];
  private readonly judge: ScheduleJudge;
  private nowMs = START_MS;

  constructor(seed: number, options: ScheduleOptions) {
    this.random = new Random(seed);
    this.options = options;
    this.shardCount = this.random.chance(0.7) ? 1 : 2;
    this.losesMemory = this.random.chance(0.3);
    this.relays = this.losesMemory || this.random.chance(0.4);
    const pace = this.random.pick(PACES);
    this.skewBoundMs = pace.skewBoundMs;
    this.graceMs = 2 * pace.skewBoundMs + 1000;
    this.longestExpiryMs = pace.longestExpiryMs;
    const keyCount = 1 + this.random.below(this.random.pick([4, 12, 40]));
    this.keys = Array.from({ length: keyCount }, (_, index) => `k${index}`);
    const count = 2 + this.random.below(3);
    for (let name = 0; name < count; name++) this.nodes.push(this.makeNode(name, 0));
    const { nodes, keys, ledger, shardCount, skewBoundMs, failures } = this;
    this.judge = new ScheduleJudge({ nodes, keys, ledger, shardCount, skewBoundMs, failures });
  }

  private makeNode(name: number, incarnation: number): ScheduleNode {
    const skewMs = this.options.expiry ? Math.floor((this.random.next() * 2 - 1) * this.skewBoundMs) : 0;
    const { shardCount, nowMs, graceMs } = this;
    const node = new ScheduleNode({ name, incarnation, shardCount, nowMs, skewMs, graceMs });
    this.options.plant?.(node);
    return node;
  }

  run(): Outcome {
    try {
      const steps = 60 + this.random.below(160);
      for (let step = 0; step < steps && this.failures.length === 0; step++) {
        this.advance();
        this.act();
        if (step % 8 === 0) this.judge.findRisen();
      }
      if (this.failures.length === 0) this.heal();
      if (this.failures.length === 0) this.judge.judge(this.nowMs);
    } catch (error) {
      this.failures.push((error as Error).message);
    }
    if (this.failures.length > 0) this.describe();
    return { failures: this.failures, trace: this.trace };
  }

  private describe(): void {
    for (const node of this.nodes) {
      this.trace.push(`${node.label} at +${node.engine.nowMs - START_MS}`);
      for (const key of this.keys) {
        for (const held of componentsOf(node.engine, key)) {
          const { origin, positive, negative, ...rest } = held;
          const increments = this.ledger.inComponent(key, positive, negative).map(({ index }) => index);
          this.trace.push(
            `  ${key} ${origin.slice(0, 2)}.${origin.slice(32, 34)} [${increments}] ${JSON.stringify(rest)}`,
          );
        }
      }
    }
  }

  // ---- what happens -------------------------------------------------------------------------------------------------

  private advance(): void {
    const hurry = this.options.expiry && this.random.chance(0.1) ? this.longestExpiryMs : 2000;
    this.nowMs += this.random.below(hurry);
    for (const node of this.nodes) node.advanceTo(this.nowMs);
  }

  private act(): void {
    const { random } = this;
    const node = random.pick(this.nodes);
    const key = random.pick(this.keys);
    const dice = random.next();
    if (random.chance(0.01)) this.settle(3);
    if (this.options.expiry && random.chance(0.2)) this.changeExpiry(node, key);
    else if (dice < 0.33) this.increment(node, key);
    else if (dice < 0.41) this.reset(node, key);
    else if (dice < 0.68) this.send(node);
    else if (dice < 0.9) this.deliverOne();
    else if (dice < 0.93) this.cutOrMend(node);
    else if (dice < 0.985) this.collect(node);
    else if (this.losesMemory) this.loseMemory(node);
  }

  private increment(node: ScheduleNode, key: string): void {
    const increment = this.ledger.next(key, this.random.chance(0.3), node.label, node.engine.nowMs);
    if (increment === undefined) return;
    const { engine } = node;
    withKey(engine, key, () => {
      const before = valueOfOpen(engine);
      this.expectOk(engine.add(...splitInt64(increment.amount)));
      if (valueOfOpen(engine) !== before + increment.amount) this.failures.push(`${key}: a reply is not the sum`);
    });
    this.ledger.acknowledged(increment);
    this.trace.push(`${node.label} ${increment.amount > 0n ? '+' : '-'} ${key}/${increment.index}`);
  }

  private reset(node: ScheduleNode, key: string): void {
    const { engine } = node;
    const assigned = this.random.chance(0.4)
      ? this.ledger.next(key, this.random.chance(0.3), node.label, engine.nowMs)
      : undefined;
    withKey(engine, key, () => {
      const seen = this.ledger.read(key, valueOfOpen(engine));
      if (typeof seen === 'string') this.failures.push(`${node.label}: ${seen}`);
      else for (const increment of seen) this.ledger.reset.add(increment);
      if (assigned === undefined) this.expectOk(engine.remove());
      else this.expectOk(engine.assign(...splitInt64(assigned.amount), this.random.chance(0.5)));
    });
    if (assigned !== undefined) this.ledger.acknowledged(assigned);
    this.trace.push(`${node.label} ${assigned === undefined ? 'removes' : `sets /${assigned.index}`} ${key}`);
  }

  private changeExpiry(node: ScheduleNode, key: string): void {
    const { engine } = node;
    const dice = this.random.next();
    if (dice < 0.3) {
      node.engine.expireSome(1 + this.random.below(30));
    } else if (dice < 0.45) {
      withKey(engine, key, () => this.expectOk(engine.persist()));
      this.trace.push(`${node.label} persists ${key}`);
    } else {
      const inMs = 1 + this.random.below(this.random.chance(0.5) ? 5000 : this.longestExpiryMs);
      withKey(engine, key, () => {
        if (!engine.exists) return;
        const inSight = this.ledger.read(key, valueOfOpen(engine));
        this.expectOk(engine.expireAt(engine.nowMs + inMs));
        this.ledger.noteExpiry(key, engine.expiresAtMs, typeof inSight === 'string' ? [] : inSight);
        this.trace.push(`${node.label} expires ${key} at +${engine.expiresAtMs - START_MS}`);
      });
    }
  }

  private expectOk(status: Status): void {
    if (status !== Status.Ok) this.failures.push(`status ${status}`);
  }

  private send(from: ScheduleNode): void {
    const { random } = this;
    const open = [...this.openWalks].filter(([, walk]) => walk.sender === from);
    if (open.length > 0 && random.chance(0.6)) {
      const [name, walk] = random.pick(open);
      if (!this.isCut(from, walk.receiver)) this.sendPart(name, walk);
      return;
    }
    const to = random.pick(this.nodes);
    if (to === from || this.isCut(from, to)) return;
    if (random.chance(0.3)) this.wire.push({ to: to.name, report: from.report() });
    const origin = random.pick(this.originsToSend(from));
    if (origin === to.origin) return;
    const shard = random.below(this.shardCount);
    const start = to.seenOf(shard, origin);
    const walk = {
      number: ++from.lastWalk,
      origin,
      shard,
      start,
      at: start,
      passed: NOT_PASSED,
      sender: from,
      receiver: to,
    };
    this.sendPart(`${from.name}>${to.name}:${origin}:${shard}`, walk);
  }

  private sendPart(name: string, walk: DirectedWalk): void {
    const { sender, receiver, origin, shard } = walk;
    const limits = { components: 1 + this.random.below(3), keyBytes: 1000 };
    const batch = sender.walkPart(shard, origin, walk, limits);
    if (batch.to !== 0) this.openWalks.delete(name);
    else this.openWalks.set(name, walk);
    this.wire.push({ to: receiver.name, batch });
    if (this.random.chance(0.2)) this.wire.push({ to: receiver.name, batch });
  }

  private originsToSend(from: ScheduleNode): string[] {
    return this.relays ? from.knownOrigins() : [from.origin];
  }

  private deliverOne(): void {
    if (this.wire.length === 0) return;
    const [message] = this.wire.splice(this.random.below(this.wire.length), 1);
    if (!this.random.chance(0.15)) this.deliver(message);
  }

  private deliver(message: Message): void {
    const node = this.nodes[message.to];
    if (message.report !== undefined) node.hear(message.report);
    const { batch } = message;
    if (batch === undefined) return;
    node.merge.apply(batch);
    this.trace.push(
      `${node.label} gets ${batch.origin[0] - 1}.${batch.origin[16] - 1}/${batch.shardIndex} ` +
        `${batch.start}:${batch.from}:${batch.reached} to ${batch.to} [${batch.version.slice(0, batch.count)}]`,
    );
  }

  private isCut(from: ScheduleNode, to: ScheduleNode): boolean {
    return this.partition.has(`${from.name}>${to.name}`);
  }

  /** One link in one direction, or everything to and from a node. */
  private cutOrMend(node: ScheduleNode): void {
    const link = `${node.name}>${this.random.below(this.nodes.length)}`;
    if (this.random.chance(0.5)) {
      if (!this.partition.delete(link)) this.partition.add(link);
    } else if (this.partition.size > 0) {
      this.partition.clear();
    } else {
      for (const { name } of this.nodes) this.partition.add(`${node.name}>${name}`).add(`${name}>${node.name}`);
    }
  }

  private members(): string[] {
    return this.nodes.map((node) => node.origin);
  }

  private collect(node: ScheduleNode): void {
    for (const other of this.nodes) if (other !== node && this.random.chance(0.7)) node.hear(other.report());
    node.acknowledge(this.members());
  }

  private loseMemory(node: ScheduleNode): void {
    this.judge.noteLoss(node);
    const incarnation = this.options.keepIncarnation ? node.incarnation : node.incarnation + 1;
    this.nodes[node.name] = this.makeNode(node.name, incarnation);
    for (const name of [...this.openWalks.keys()]) {
      if (name.startsWith(`${node.name}>`) || name.includes(`>${node.name}:`)) this.openWalks.delete(name);
    }
    this.trace.push(`${node.label} loses its memory`);
  }

  // ---- how all is healed --------------------------------------------------------------------------------------------

  /** Every node sends whole walks to every other, and acknowledges; batches on the wire stay there, and get old. */
  private settle(rounds: number): void {
    this.judge.findRisen();
    this.trace.push('settle');
    for (let round = 0; round < rounds; round++) {
      for (const from of this.nodes) for (const to of this.nodes) if (from !== to) this.walkAll(from, to);
      for (const from of this.nodes) for (const to of this.nodes) if (from !== to) to.hear(from.report());
      for (const node of this.nodes) node.acknowledge(this.members());
      for (const node of this.nodes) node.engine.expireSome(1_000_000);
    }
    this.judge.findRisen();
    this.judge.noteGone();
  }

  private walkAll(from: ScheduleNode, to: ScheduleNode): void {
    for (const origin of this.originsToSend(from)) {
      if (origin === to.origin) continue;
      for (let shard = 0; shard < this.shardCount; shard++) {
        const start = to.seenOf(shard, origin);
        to.merge.apply(from.walkWhole(shard, origin, start, ++from.lastWalk));
      }
    }
  }

  private heal(): void {
    this.partition.clear();
    while (this.wire.length > 0) this.deliver(this.wire.shift() as Message);
    this.settle(6);
    if (this.options.expiry) {
      // Past every expiry there is, then past the grace of every node.
      for (let turn = 0; turn < 4; turn++) {
        this.nowMs += this.longestExpiryMs + this.graceMs + 2 * this.skewBoundMs;
        for (const node of this.nodes) node.advanceTo(this.nowMs);
        this.settle(3);
      }
    }
    // A relay does not pass on that a component became empty, since it does not keep it; nor can an origin that is no
    // more.
    if (this.relays) {
      for (let round = 0; round < 4; round++) {
        for (const to of this.nodes)
          for (const from of this.nodes) if (from !== to) repairFrom(to.engine, to.merge, from.engine);
        this.settle(2);
      }
    }
  }
}
