import { createHash } from 'node:crypto';
import { type Policy, PolicyError, type Seals, type TakeItem } from '@quotadb/quota';
import { Cluster } from '../world/cluster.js';
import type { SimulatedNode } from '../world/node.js';
import type { NodeProcess } from '../world/process.js';
import type { QuotaPlan } from './plan.js';
import { type BookStore, QuotaService, quotasOf } from './quota-service.js';

/** How long a caller waits for tokens of other regions if its request does not say. */
const WAIT_MS = 1000;

/** Replicas with quotas. The home of their policies is the first region of the plan. */
export abstract class QuotaCluster extends Cluster<QuotaPlan> {
  private readonly books = new Map<SimulatedNode, BookStore>();
  private idsTotal = 0;

  /** Clocks differ by twice as much as each is off. */
  get clockSkewBoundMs(): number {
    return 2 * this.plan.skewBoundMs;
  }

  override serviceOf(process: NodeProcess): QuotaService {
    const store = this.books.get(process.node) ?? { saved: undefined };
    this.books.set(process.node, store);
    return new QuotaService({
      process,
      home: this.plan.regions[0].region,
      store,
      skewBoundMs: this.clockSkewBoundMs,
      newId: () => this.newId(),
      hasRoutes: this.plan.hasRoutes ?? false,
      seals: this.plan.isCertified ? sealsOf(process.region) : undefined,
    });
  }

  protected override losingState(node: SimulatedNode): void {
    this.books.delete(node);
  }

  protected override keptIncarnation(node: SimulatedNode): void {
    this.books.delete(node);
  }

  newId(): string {
    return `id${++this.idsTotal}`;
  }

  protected policyAtHome(name: string): Policy | undefined {
    const home = this.nodes[0].running;
    return home && quotasOf(home).book.named(name);
  }

  /** Undefined where the home is down or refuses it, and there was no such policy before. */
  protected define(name: string, limit: number, allocator: string, leaseMs?: number): Policy | undefined {
    const home = this.nodes[0].running;
    if (home === undefined) return undefined;
    const quotas = quotasOf(home);
    const { shares } = this.plan;
    const windowMs = leaseMs === undefined ? this.plan.windowMs : 0;
    home.engine.advanceTo(home.node.wallMs());
    quotas.guard(() => {
      try {
        quotas.define({ name, limit, windowMs, leaseMs, allocator, shares, waitMs: WAIT_MS });
        this.said(`${home.label} defines ${name} as ${limit} in ${windowMs} ms, allocated by ${allocator}`);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        this.said(`${home.label} does not define ${name}: ${error.message}`);
      }
    });
    return quotas.book.named(name);
  }
}

/** As signatures: only the region itself makes its seal, and every region can check it. */
export function sealsOf(region: string): Seals {
  const signatureOf = (by: string, text: string) => createHash('sha256').update(`${by}\0${text}`).digest('base64');
  return {
    seal: (text) => ({ certificate: region, signature: signatureOf(region, text) }),
    findFault: (text, { certificate, signature }, by) =>
      certificate === by && signature === signatureOf(by, text) ? undefined : `they have no seal of ${by}`,
  };
}

export function itemOf(name: string, subject: string, cost: number): TakeItem {
  return { name, subject: Uint8Array.from(Buffer.from(subject)), cost };
}
