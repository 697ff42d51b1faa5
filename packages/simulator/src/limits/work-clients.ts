import type { Random } from '@quotadb/engine/testing';
import type { NodeProcess } from '../world/process.js';
import type { LimitClients } from './limit-clients.js';
import type { LimitCluster } from './limit-cluster.js';
import { limitsOf } from './limit-service.js';
import type { LimitOracle } from './oracle.js';
import { CREW, HOLD_MS, JOBS, WORK } from './plan.js';

const WAITS_MS = [0, 300, 2000];

/** What a client holds: a lease of its subject and one of its crew. It counts on them until then, in true time. */
interface HeldWork {
  readonly process: NodeProcess;
  readonly id: string;
  readonly subject: string;
  readonly leases: readonly { readonly name: string; readonly policy: number; readonly subject: string }[];
  readonly untilMs: number;
}

/**
 * Clients that take leases together with other limits. At no moment of true time do they hold more of a subject, or of
 * its crew, than the highest limit that it had; and both are held, or neither is.
 */
export class WorkClients {
  private readonly cluster: LimitCluster;
  private readonly clients: LimitClients;
  private readonly oracle: LimitOracle;
  private held: HeldWork[] = [];

  constructor(cluster: LimitCluster, clients: LimitClients, oracle: LimitOracle) {
    this.cluster = cluster;
    this.clients = clients;
    this.oracle = oracle;
  }

  begin(process: NodeProcess, random: Random): void {
    this.ask(process, random.pick(this.cluster.plan.subjects), this.cluster.newId(), random.pick(WAITS_MS));
  }

  /** A client that did not hear the answer asks again: the same region, where it can. */
  repeat(process: NodeProcess, random: Random): void {
    const known = this.held.filter((work) => work.process.isRunning);
    if (known.length === 0) return;
    const { id, subject, process: first } = random.pick(known);
    this.ask(random.chance(0.8) ? first : process, subject, id, random.pick(WAITS_MS));
  }

  end(random: Random): void {
    const known = this.held.filter((work) => work.process.isRunning);
    if (known.length > 0) this.release(random.pick(known));
  }

  endAll(): void {
    for (const work of this.held.filter(({ process }) => process.isRunning)) this.release(work);
    this.held = [];
  }

  ask(
    process: NodeProcess,
    subject: string,
    id: string,
    waitMs: number,
    done: (isAllowed: boolean) => void = () => {},
  ): void {
    this.clients.ask(process, { name: WORK, subject, cost: 1, lease: id }, waitMs, (isAllowed, given) => {
      if (isAllowed) this.answered(process, subject, id, given);
      else if (given.length > 0) this.cluster.failed(`${process.label} denies ${id} and gives it a lease`);
      done(isAllowed);
    });
  }

  private answered(process: NodeProcess, subject: string, id: string, given: Parameters<typeof describe>[0]): void {
    const isRepeated = this.held.some((work) => work.id === id && work.process.node === process.node);
    if (given.length === 0) {
      if (!isRepeated) this.cluster.failed(`${process.label} allows the work ${id} and gives it no lease`);
      return;
    }
    const leases = describe(given);
    const names = leases.map(({ name }) => name).toSorted();
    if (!isRepeated && names.join() !== [CREW, JOBS].join())
      this.cluster.failed(`${process.label} gives the work ${id} leases of ${names.join(' and ')}`);
    this.cluster.said(`${process.label} gives the work ${id} of ${subject} ${leases.length} leases`);
    const untilMs = this.cluster.scheduler.nowMs + HOLD_MS;
    this.held.push({ process, id, subject, leases, untilMs });
    this.check();
  }

  get heldTotal(): number {
    return this.held.length;
  }

  check(): void {
    const { nowMs } = this.cluster.scheduler;
    this.held = this.held.filter(({ untilMs }) => untilMs > nowMs);
    const counts = new Map<string, number>();
    for (const { leases } of this.held)
      for (const { name, policy, subject } of leases) {
        const key = JSON.stringify([policy, subject]);
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        const limit = this.oracle.limitOf({ policy, window: 0, subject: Buffer.from(subject) });
        if (count > limit) this.cluster.failed(`${count} leases of ${name} are held for ${subject}, of ${limit}`);
      }
  }

  private release({ process, id, subject }: HeldWork): void {
    const limits = limitsOf(process);
    const target = limits.resolution?.find(WORK);
    if (limits.resolution === undefined || target === undefined) return;
    this.held = this.held.filter((work) => work.id !== id || work.process.node !== process.node);
    const leases = limits.resolution.leasesOf(target, Buffer.from(subject), process.engine.nowMs, id);
    limits.guard(() => limits.decider.release(leases));
    this.cluster.said(`${process.label} takes back the work ${id}`);
  }
}

function describe(given: ReturnType<ReturnType<typeof limitsOf>['decider']['takeGiven']>): HeldWork['leases'] {
  return given.map(({ name, subject, allotments }) => ({
    name,
    policy: allotments[0].policy,
    subject: Buffer.from(subject).toString(),
  }));
}
