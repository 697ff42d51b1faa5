import type { QuotaNode } from './quota-node.js';
import { QuotaSimulation, type QuotaSimulationOptions } from './quota-simulation.js';

export const LEASE_MS = 3000;
const LARGEST_LIMIT = 12;

/** As the client sees it that holds it, in true time. */
interface HeldLease {
  readonly node: QuotaNode;
  readonly id: string;
  untilMs: number;
}

/**
 * The same regions, network, disks and clocks with leases: at every moment of true time no more than the limit are held by
 * anybody who could think so, whoever was killed or cut off meanwhile.
 */
export class LeaseSimulation extends QuotaSimulation {
  private held: HeldLease[] = [];
  mostHeld = 0;
  renewals = 0;

  constructor(seed: number, options: QuotaSimulationOptions = {}) {
    super(seed, { ...options, leaseMs: LEASE_MS, limit: options.limit ?? 1 + (seed % LARGEST_LIMIT) });
  }

  protected override demand(node: QuotaNode): void {
    const dice = this.below(10);
    if (dice < 6) this.acquire(node, 1 + this.below(LEASE_MS));
    else if (dice < 8) this.renew(this.below(this.held.length));
    else this.release(this.below(this.held.length));
    // Time for windows to come and go.
    this.pass(this.below(400));
  }

  protected override collect(): void {
    this.held = this.held.filter(({ untilMs }) => untilMs > this.nowMs);
    this.mostHeld = Math.max(this.mostHeld, this.held.length);
    if (this.held.length > this.highestLimit())
      this.failures.push(`${this.held.length} leases are held of ${this.highestLimit()}`);
  }

  /** All have ended; where nothing was lost, one region can hold as many as the limit says. */
  protected override checkLiveness(node: QuotaNode): void {
    this.pass(2 * LEASE_MS);
    for (let turn = 0; turn < 20 && this.held.length < this.limit; turn++) {
      for (let missing = this.limit - this.held.length; missing > 0; missing--) this.acquire(node, LEASE_MS);
      this.pass(100);
      for (let index = 0; index < this.held.length; index++) this.renew(index);
    }
    if (this.held.length !== this.limit)
      this.failures.push(`only ${this.held.length} of ${this.limit} could be held at once`);
  }

  private acquire(node: QuotaNode, ttlMs: number): void {
    const request = { name: 'calls', subject: Uint8Array.of(1), ttlMs, waitMs: 1000 };
    node.leases.acquire(request, (acquired) => {
      if ('error' in acquired || !acquired.isAllowed) return;
      this.held.push({ node, id: acquired.id, untilMs: this.nowMs + ttlMs });
      this.collect();
    });
  }

  private renew(index: number): void {
    const lease = this.held[index];
    if (lease === undefined || !this.isRunning(lease.node)) return;
    const ttlMs = 1 + this.below(LEASE_MS);
    lease.node.leases.renew(lease.id, ttlMs, 1000, (renewed) => {
      if ('error' in renewed || !renewed.isRenewed) return;
      this.renewals++;
      lease.untilMs = this.nowMs + ttlMs;
      // Renewed at the last moment.
      if (!this.held.includes(lease)) this.held.push(lease);
      this.collect();
    });
  }

  private release(index: number): void {
    const lease = this.held[index];
    if (lease === undefined || !this.isRunning(lease.node)) return;
    lease.node.leases.release(lease.id);
    this.held.splice(index, 1);
  }
}
