import type { Random } from '@quotadb/engine/testing';
import { type Catalogue, type Decision, type DecisionRefusal, type Item, isRefusal } from '@quotadb/limits';
import { type Allotment, nameOfAllotment, windowAt } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';
import type { LimitCluster } from './limit-cluster.js';
import { type GivenLease, limitsOf } from './limit-service.js';
import { type Expected, expectedOf } from './model.js';
import type { LimitOracle } from './oracle.js';
import { CREW, JOBS } from './plan.js';

const WAITS_MS = [undefined, 0, 0, 300, 2000];
const LONGEST_BURST = 6;

/**
 * Clients that ask for limits and domains in all regions. The oracle hears of the tokens that each answer must have
 * cost by the guide: one that is missing, or one too many, breaks the conservation of tokens.
 */
export class LimitClients {
  private readonly cluster: LimitCluster;
  private readonly oracle: LimitOracle;

  constructor(cluster: LimitCluster, oracle: LimitOracle) {
    this.cluster = cluster;
    this.oracle = oracle;
  }

  checkBurst(process: NodeProcess, name: string, random: Random): void {
    const { subjects, limit } = this.cluster.plan;
    for (let burst = 1 + random.below(LONGEST_BURST); burst > 0; burst--) {
      const most = random.pick([3, Math.ceil(limit / 3)]);
      this.ask(process, { name, subject: random.pick(subjects), cost: 1 + random.below(most) }, random.pick(WAITS_MS));
    }
  }

  /** Looks, and must not be charged. */
  peek(process: NodeProcess, name: string, random: Random): void {
    const { resolution, decider } = limitsOf(process);
    const target = resolution?.find(name);
    if (resolution === undefined || target === undefined) return;
    const subject = Buffer.from(random.pick(this.cluster.plan.subjects));
    const items = resolution.itemsOf(target, subject, 1, process.engine.nowMs);
    limitsOf(process).guard(() => decider.decide({ items, isPeek: true }, () => {}));
  }

  ask(
    process: NodeProcess,
    request: { readonly name: string; readonly subject: string; readonly cost: number; readonly lease?: string },
    waitMs: number | undefined,
    done: (isAllowed: boolean, given: readonly GivenLease[]) => void = () => {},
  ): void {
    const { name, subject, cost, lease } = request;
    const limits = limitsOf(process);
    const { resolution, decider, catalogue } = limits;
    const target = resolution?.find(name);
    if (resolution === undefined || target === undefined) {
      done(false, []);
      return;
    }
    const bytes = Uint8Array.from(Buffer.from(subject));
    const items = resolution.itemsOf(target, bytes, cost, process.engine.nowMs, lease);
    const expected = expectedOf(catalogue as Catalogue, name, subject);
    limits.guard(() =>
      decider.decide({ items, waitMs }, (answer) => {
        const given = decider.takeGiven(items);
        if (process.isOver) return;
        const late = new Set(items.filter((item) => decider.late.has(item)).map((item) => item.name));
        // A request that holds its leases already was made before, and costs nothing.
        const isFree = lease !== undefined && given.length === 0;
        this.answered(process, expected, isFree ? 0 : cost, answer, late);
        done(!isRefusal(answer) && answer.allowed, given);
      }),
    );
  }

  private answered(
    process: NodeProcess,
    expected: readonly Expected[],
    cost: number,
    answer: Decision | DecisionRefusal,
    late: ReadonlySet<string>,
  ): void {
    if (isRefusal(answer)) return;
    const { allowed, deniedBy, items } = answer;
    if (!allowed) {
      if (!expected.some(({ name, shadow }) => name === deniedBy && !shadow))
        this.cluster.failed(`${process.label}: ${deniedBy} denies a request that it must not deny`);
      return;
    }
    for (const { name, subject, shadow } of expected) {
      if (name === JOBS || name === CREW || cost === 0) continue;
      const isCharged = !shadow || (!late.has(name) && items.some((item) => item.name === name && item.allowed));
      if (isCharged) this.charged(process, name, subject, cost);
    }
  }

  /** Tokens of a limit in shadow have come after the answer. */
  chargedLate(process: NodeProcess, { name, subject, cost }: Item): void {
    if (!process.isOver) this.charged(process, name, Buffer.from(subject).toString(), cost);
  }

  private charged(process: NodeProcess, name: string, subject: string, cost: number): void {
    const allotment = this.allotmentOf(process, name, subject);
    // A quota that was dropped while the request waited denies nothing, and counts nothing.
    if (allotment === undefined) return;
    this.cluster.said(`${process.label} allows ${cost} of ${name} to ${subject}: ${nameOfAllotment(allotment)}`);
    this.oracle.taken(process, allotment, cost);
    if (this.cluster.plan.ofCalendar.includes(name)) this.cluster.checkCalendar(process, allotment);
  }

  allotmentOf(process: NodeProcess, name: string, subject: string): Allotment | undefined {
    const policy = limitsOf(process).book.named(name);
    if (policy === undefined) return undefined;
    const bytes = Uint8Array.from(Buffer.from(subject));
    return { policy: policy.number, window: windowAt(policy, process.engine.nowMs), subject: bytes };
  }
}
