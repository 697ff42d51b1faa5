import { Status, splitInt64 } from '@quotadb/engine';
import { componentsOf, type Random, recordOf, withKey } from '@quotadb/engine/testing';
import { PolicyError } from '@quotadb/quota';
import { itemOf, MAIN } from '../quotas/quota-cluster.js';
import type { Cluster } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';
import { type MoveMember, memberOf } from './move-member.js';
import type { MoveOracle } from './oracle.js';
import { type MovePlan, slotOf } from './plan.js';

const LONGEST_BURST = 6;
const BURST_MS = 300;
/** Commands mostly take no time; some wait for an answer while they run. */
const LONGEST_COMMAND_MS = 400;
const WINDOW_MS = 3_600_000;
const WAIT_MS = 300;

/** What clients and their oracle need to know of slots. */
interface SlotFacts {
  /** How often it has changed hands. */
  readonly epochOf: (slot: number) => number;
  readonly isMoving: (slot: number) => boolean;
  readonly counted: (slot: number) => void;
}

/** Clients that count and take tokens wherever a slot is served, and report every answer to the oracle. */
export class MoveClients {
  /** No burst goes on. */
  isCalm = false;
  private readonly cluster: Cluster<MovePlan>;
  private readonly oracle: MoveOracle;
  private readonly slots: SlotFacts;

  constructor(cluster: Cluster<MovePlan>, oracle: MoveOracle, slots: SlotFacts) {
    this.cluster = cluster;
    this.oracle = oracle;
    this.slots = slots;
  }

  private get plan(): MovePlan {
    return this.cluster.plan;
  }

  countBurst(random: Random): void {
    this.burst(random, () => this.count(random));
  }

  takeBurst(random: Random): void {
    this.burst(random, () => this.take(random.pick(this.plan.subjects), 1 + random.below(3), random));
  }

  private burst(random: Random, run: () => void): void {
    for (let left = 1 + random.below(LONGEST_BURST); left > 0; left--)
      this.cluster.scheduler.after(random.next() * BURST_MS, () => {
        if (!this.isCalm) run();
      });
  }

  /** A client asks one process after another until one serves the slot. */
  private findServing(slot: number, random: Random): MoveMember | undefined {
    const members = this.cluster
      .running()
      .filter(({ isPaused }) => !isPaused)
      .map(memberOf);
    const from = members.length === 0 ? 0 : random.below(members.length);
    return [...members.slice(from), ...members.slice(0, from)].find((member) => member.begin(slot));
  }

  private count(random: Random): void {
    const key = this.pickKey(random);
    const slot = slotOf(key);
    const member = this.findServing(slot, random);
    if (member === undefined) return;
    const run = (): void => {
      this.add(member.process, key, slot);
      member.end(slot);
    };
    if (random.chance(0.2)) member.after(random.next() * LONGEST_COMMAND_MS, run);
    else run();
  }

  /** Mostly one whose slot is on its way. */
  private pickKey(random: Random): string {
    const moving = this.plan.keys.filter((key) => this.slots.isMoving(slotOf(key)));
    return random.pick(moving.length > 0 && random.chance(0.7) ? moving : this.plan.keys);
  }

  private add(process: NodeProcess, key: string, slot: number): void {
    const { engine, origin, label } = process;
    const increment = this.oracle.ledger.next(key, false, label, this.cluster.scheduler.nowMs);
    if (increment === undefined) return;
    process.advance();
    const status = withKey(engine, key, () => engine.add(...splitInt64(increment.amount)));
    if (status === Status.OutOfMemory) return;
    if (status !== Status.Ok) this.cluster.failed(`${label}: an increment of ${key} got the status ${status}`);
    const shard = engine.store.shardIndexOf(recordOf(engine, key).shard);
    const version = componentsOf(engine, key).find((component) => component.origin === origin)?.version ?? 0;
    this.cluster.said(`${label} counts increment ${increment.index} of ${key} in slot ${slot}`);
    this.oracle.made({ increment, origin, shard, version, epoch: this.slots.epochOf(slot) });
    this.slots.counted(slot);
  }

  /** Policies are the same in all groups. */
  definePolicies(): void {
    for (const home of this.cluster.running()) {
      const { quotas } = memberOf(home);
      if (!quotas.book.isHome || quotas.book.named(MAIN) !== undefined) continue;
      home.advance();
      const lasting = { windowMs: WINDOW_MS, waitMs: WAIT_MS, shares: [] };
      quotas.guard(() => {
        try {
          quotas.define({ name: MAIN, limit: this.plan.limit, allocator: home.region, ...lasting });
        } catch (error) {
          if (!(error instanceof PolicyError)) throw error;
          this.cluster.said(`${home.label} does not define ${MAIN}: ${error.message}`);
        }
      });
    }
  }

  take(subject: string, tokens: number, random: Random, denied: () => void = () => {}): void {
    const slot = slotOf(subject);
    const member = this.findServing(slot, random);
    if (member === undefined) {
      denied();
      return;
    }
    const { process, quotas } = member;
    process.advance();
    quotas.take(undefined, { items: [itemOf(MAIN, subject, tokens)] }, (answer) => {
      member.end(slot);
      if (!('isAllowed' in answer) || !answer.isAllowed) {
        denied();
        return;
      }
      const taken = this.oracle.take(answer.allotments[0].window, subject, tokens);
      this.cluster.said(`${process.label} gives ${tokens} tokens of ${subject}: ${taken} in all`);
      if (taken > this.plan.limit)
        this.cluster.failed(`${process.label}: ${taken} tokens of ${subject} were given, of ${this.plan.limit}`);
    });
  }
}
