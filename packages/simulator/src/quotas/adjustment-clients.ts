import { createHash } from 'node:crypto';
import type { Random } from '@quotadb/engine/testing';
import { limitOf, type Override, type Policy, PolicyError, windowAt } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';
import type { QuotaOracle } from './oracle.js';
import { MAIN, type QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

/** An operation that gave a subject extra tokens. */
interface GivenExtra {
  readonly operation: string;
  readonly subject: Uint8Array;
  readonly amount: number;
}

/** Operators who change the limits of subjects, give them extra tokens, and refund what they spent. */
export class AdjustmentClients {
  private readonly cluster: QuotaCluster;
  private readonly oracle: QuotaOracle;
  private readonly given: GivenExtra[] = [];

  constructor(cluster: QuotaCluster, oracle: QuotaOracle) {
    this.cluster = cluster;
    this.oracle = oracle;
  }

  /** One more override, or one less, or none. */
  drawOverrides({ windowMs }: Policy, random: Random): readonly Override[] {
    if (random.chance(0.15)) return [];
    const { overrides, plan } = this.cluster;
    const name = random.pick(plan.subjects);
    const subject = random.pick([name, name, `${name.slice(0, 1)}*`, '*']);
    const others = overrides.filter((override) => override.subject !== subject);
    if (random.chance(0.15)) return others;
    const home = this.cluster.nodes[0].running;
    const isLater = windowMs > 0 && home !== undefined && random.chance(0.3);
    const from = isLater && { fromMs: home.engine.nowMs };
    return [...others, { subject, limit: random.below(2 * plan.limit), ...from }];
  }

  /** Whether any subject has a lower limit than before in the window of now. */
  isLower(before: Policy, after: Policy): boolean {
    const home = this.cluster.nodes[0].running as NodeProcess;
    const window = windowAt(after, home.engine.nowMs);
    return this.cluster.plan.subjects.some((subject) => {
      const bytes = Buffer.from(subject);
      return limitOf(after, bytes, window) < limitOf(before, bytes, window);
    });
  }

  giveExtra(random: Random): void {
    const operation = createHash('sha256').update(this.cluster.newId()).digest('hex');
    const subject = Uint8Array.from(Buffer.from(random.pick(this.cluster.plan.subjects)));
    const extra = { operation, subject, amount: 1 + random.below(this.cluster.plan.limit) };
    this.given.push(extra);
    this.ask(extra);
    // The answer was lost, and the client asks again.
    if (random.chance(0.3)) this.ask(extra);
  }

  repeatExtra(random: Random): void {
    if (this.given.length > 0) this.ask(random.pick(this.given));
  }

  private ask(extra: GivenExtra): void {
    const home = this.cluster.nodes[0].running;
    if (home === undefined || this.cluster.policyAtHome(MAIN) === undefined) return;
    const quotas = quotasOf(home);
    home.advance();
    quotas.guard(() => {
      try {
        const { number, extras } = quotas.giveExtra(MAIN, extra);
        const entry = extras?.find(({ operation }) => operation === extra.operation) ?? extras?.at(-1);
        const allotment = { policy: number, window: entry?.window ?? 0, subject: extra.subject };
        this.oracle.gaveExtra(allotment, extra.operation, extra.amount);
        this.cluster.said(`${home.label} gives ${extra.amount} extra for ${extra.operation.slice(0, 8)}`);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        this.cluster.said(`${home.label} gives nothing extra: ${error.message}`);
      }
    });
  }

  refund(process: NodeProcess, random: Random): void {
    const quotas = quotasOf(process);
    const policy = quotas.book.named(MAIN);
    if (policy === undefined) return;
    const subject = Uint8Array.from(Buffer.from(random.pick(this.cluster.plan.subjects)));
    const allotment = { policy: policy.number, window: windowAt(policy, process.engine.nowMs), subject };
    const atMost = random.pick([1, 1 + random.below(this.cluster.plan.limit), Number.POSITIVE_INFINITY]);
    quotas.refund(MAIN, subject, atMost, (answer) => {
      if ('error' in answer) return;
      this.oracle.refunded(process, allotment, answer.refunded);
      this.cluster.said(`${process.label} refunds ${answer.refunded} of ${atMost}`);
    });
  }
}
