import type { Random } from '@quotadb/engine/testing';
import type { Allotment, ChangeMark } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';
import { isOnDisk } from './oracle.js';
import { LEASE_MS } from './plan.js';
import { itemOf, type QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

export const JOBS = 'jobs';
const { subject: SUBJECT } = itemOf(JOBS, 's', 1);
const WAIT_MS = 1000;

/**
 * A lease as its client sees it: it counts on it until then, by the scheduler's clock, even if its node has crashed.
 */
interface HeldLease {
  process: NodeProcess;
  /** The incarnation that gave it. */
  readonly origin: string;
  readonly id: string;
  readonly policy: number;
  untilMs: number;
  /** By the clock of its node. */
  untilWallMs: number;
  /** Of its record; undefined where it has none. */
  mark: ChangeMark | undefined;
  isOnDisk: boolean;
}

/** Clients that hold leases. At no moment of true time do they hold more than the highest limit that the policy had. */
export class LeaseClients {
  private readonly cluster: QuotaCluster;
  private readonly limitOf: (policy: number) => number;
  private leases: HeldLease[] = [];
  acquiredTotal = 0;
  renewedTotal = 0;

  constructor(cluster: QuotaCluster, limitOf: (policy: number) => number) {
    this.cluster = cluster;
    this.limitOf = limitOf;
  }

  acquire(process: NodeProcess, ttlMs: number): void {
    const quotas = quotasOf(process);
    const request = { name: JOBS, subject: SUBJECT, ttlMs, waitMs: WAIT_MS };
    quotas.guard(() =>
      quotas.leases.acquire(request, (acquired) => {
        if (process.isOver || 'error' in acquired || !acquired.isAllowed) return;
        const { id } = acquired;
        const [{ policy }] = quotas.operations.answering as readonly Allotment[];
        this.acquiredTotal++;
        this.cluster.said(`${process.label} gives the lease ${id} for ${ttlMs} ms`);
        const until = {
          untilMs: this.cluster.scheduler.nowMs + ttlMs,
          untilWallMs: process.engine.nowMs + ttlMs,
        };
        const mark = process.disk && quotas.records.takeLastMark();
        this.leases.push({ process, origin: process.origin, id, policy, ...until, mark, isOnDisk: false });
        this.check();
      }),
    );
  }

  renew(lease: HeldLease, ttlMs: number): void {
    const { process, id } = lease;
    const quotas = quotasOf(process);
    // As the guide asks of clients: counted from before the request was sent.
    const until = { untilMs: this.cluster.scheduler.nowMs + ttlMs, untilWallMs: process.engine.nowMs + ttlMs };
    quotas.guard(() =>
      quotas.leases.renew(id, ttlMs, WAIT_MS, (renewed) => {
        if (process.isOver || 'error' in renewed || !renewed.isRenewed) return;
        this.renewedTotal++;
        this.cluster.said(`${process.label} renews the lease ${id} for ${ttlMs} ms`);
        Object.assign(lease, until);
        // It may have been renewed at the moment when its client gave it up.
        if (!this.leases.includes(lease)) this.leases.push(lease);
        this.check();
      }),
    );
  }

  release(lease: HeldLease): void {
    this.leases = this.leases.filter((other) => other !== lease);
    quotasOf(lease.process).leases.release(lease.id);
    this.cluster.said(`${lease.process.label} takes back the lease ${lease.id}`);
  }

  ended(process: NodeProcess): void {
    for (const lease of this.leases) {
      if (lease.process !== process) continue;
      lease.isOnDisk = isOnDisk(process, lease.mark);
      // Later versions of the next process say nothing about it.
      if (!lease.isOnDisk) lease.mark = undefined;
    }
  }

  /** The next process of a node takes up the leases that are on its disk. */
  restarted(process: NodeProcess): void {
    const { leases, book } = quotasOf(process);
    for (const lease of this.leases) {
      const { process: before, id, untilWallMs } = lease;
      if (before.node !== process.node || lease.origin !== process.origin) continue;
      lease.process = process;
      if (!leases.has(id) && lease.isOnDisk && book.tenure.isContinued && process.engine.nowMs < untilWallMs)
        this.cluster.failed(`${process.label}: the lease ${id} was on disk and is gone`);
      // Private to leases: only this check needs it.
      const held = (Reflect.get(leases, 'held') as ReadonlyMap<string, { readonly untilMs: number }>).get(id);
      if (held !== undefined && held.untilMs - process.monotonicMs() < untilWallMs - process.engine.nowMs)
        this.cluster.failed(`${process.label}: the lease ${id} ends before its client expects it to`);
    }
  }

  /** Those that a running process can renew or release. */
  held(): HeldLease[] {
    return this.leases.filter(({ process }) => process.isRunning);
  }

  pick(random: Random): HeldLease | undefined {
    const held = this.held();
    return held.length === 0 ? undefined : random.pick(held);
  }

  check(): void {
    const { nowMs } = this.cluster.scheduler;
    this.leases = this.leases.filter(({ untilMs }) => untilMs > nowMs);
    for (const policy of new Set(this.leases.map((lease) => lease.policy))) {
      const count = this.leases.filter((lease) => lease.policy === policy).length;
      const limit = this.limitOf(policy);
      if (count > limit) this.cluster.failed(`${count} leases are held of ${limit}`);
    }
  }
}

export function drawLeaseMs(random: Random): number {
  return 1 + random.below(LEASE_MS);
}
