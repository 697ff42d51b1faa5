import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '@quotadb/engine';
import {
  type HomeView,
  noSuchPolicy,
  PendingRemint,
  type Policy,
  type PolicyBook,
  PolicyError,
  REMINT_TIMEOUT_MS,
} from '@quotadb/quota';
import type { Comparison, Member } from '@quotadb/replication';
import { type QuotaRequest, systemMonotonicMs } from '@quotadb/resp';
import type { Logger } from 'pino';

const LOOK_INTERVAL_MS = 20;

type RemintRequest = Extract<QuotaRequest, { readonly kind: 'remint' }>;

/** What replication knows of other servers. */
export interface Neighbours {
  /** The servers that this one replicates with, connected or not. */
  readonly members: () => Iterable<Member>;
  /** Whether all of them hold the same changes of some origins. */
  readonly compare: (origins: readonly Uint8Array[]) => Comparison;
}

/** A server without peers. */
export const NO_NEIGHBOURS: Neighbours = {
  members: () => [],
  compare: () => ({ held: 'alone', unanswered: [], differing: [] }),
};

export interface RemintingOptions {
  readonly book: PolicyBook;
  readonly engine: Engine;
  readonly cluster: string;
  readonly region: string;
  readonly logger: Logger;
  readonly neighbours: () => Neighbours;
  readonly reachable: () => Iterable<string>;
  /** Resolves when the disk holds all changes so far. */
  readonly flush: () => Promise<void>;
  /** Throws a PolicyError where a region takes another one for the home. */
  readonly checkSameHome: () => void;
  readonly nowMs: () => number;
}

/** QUOTA.REMINT: at the home an operator says that regions have lost their tokens for good. */
export class Reminting {
  private readonly options: RemintingOptions;

  constructor(options: RemintingOptions) {
    this.options = options;
  }

  /** Throws a PolicyError where it is refused, or where the regions do not agree in time. */
  async remint({ name, lost: regions }: RemintRequest): Promise<void> {
    const { book, logger, nowMs, flush } = this.options;
    const pending = new PendingRemint({
      view: () => this.view(),
      policy: () => this.policyOf(name),
      regions,
      flush,
    });
    const untilMs = systemMonotonicMs() + REMINT_TIMEOUT_MS;
    let lost = pending.find();
    while (lost === undefined) {
      if (systemMonotonicMs() >= untilMs) throw new PolicyError(pending.reason);
      await sleep(LOOK_INTERVAL_MS);
      lost = pending.find();
    }
    book.remint(name, lost, nowMs());
    logger.warn({ quota: name, lost: regions }, 'an operator has given the tokens of lost regions to this one');
  }

  private policyOf(name: string): Policy {
    const { book, checkSameHome } = this.options;
    checkSameHome();
    if (!book.isHome) throw new PolicyError(`tokens are re-minted in region ${book.home}, the home of policies`);
    const policy = book.named(name);
    if (policy === undefined) throw new PolicyError(noSuchPolicy(name));
    return policy;
  }

  private view(): HomeView {
    const { engine, cluster, region, neighbours, reachable } = this.options;
    const { members, compare } = neighbours();
    return { engine, cluster, region, members: members(), reachable: reachable(), compare };
  }
}
