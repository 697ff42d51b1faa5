import { type CatalogueChange, catalogueReader, type Item } from '@quotadb/limits';
import { PolicyError } from '@quotadb/quota';
import { QuotaCluster } from '../quotas/quota-cluster.js';
import type { NodeProcess } from '../world/process.js';
import { LimitService, limitsOf } from './limit-service.js';
import type { LimitPlan } from './plan.js';

/** Replicas with a catalogue of limits. Its home is the first region of the plan. */
export abstract class LimitCluster extends QuotaCluster<LimitPlan> {
  override serviceOf(process: NodeProcess): LimitService {
    const options = { ...this.serviceOptionsOf(process), catalogue: catalogueReader };
    return new LimitService(options, (item) => this.chargedLate(process, item));
  }

  /** A limit in shadow has got its tokens after the answer. */
  protected abstract chargedLate(process: NodeProcess, item: Item): void;

  /** The home has another catalogue. */
  protected abstract changed(home: NodeProcess): void;

  /** As an operator does. Nothing changes where the home is down or refuses it. */
  changeCatalogue(change: CatalogueChange): void {
    const home = this.nodes[0].running;
    if (home === undefined) return;
    const limits = limitsOf(home);
    home.advance();
    limits.guard(() => {
      try {
        limits.changeCatalogue(change);
        this.said(`${home.label} changes the catalogue: ${JSON.stringify(change)}`);
        this.changed(home);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        this.said(`${home.label} does not change the catalogue: ${error.message}`);
      }
    });
  }
}
