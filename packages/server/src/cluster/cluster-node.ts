import type { ClusterFigures } from '@quotadb/dashboard';
import type { ForwardAnswer, ForwardRequest } from '@quotadb/resp';
import type { QuotaService } from '../quotas/service.js';
import { ClusterPolicies } from './policies.js';
import { type ClusterOptions, ClusterService } from './service.js';
import { ClusterStatus } from './status.js';

export interface ClusterNodeOptions extends Omit<ClusterOptions, 'quotas'> {
  readonly quotas: QuotaService;
}

/**
 * This server as a node of a cluster: its map and moves, the policies that groups share, the cluster as operators see
 * it.
 */
export class ClusterNode {
  readonly service: ClusterService;
  readonly policies: ClusterPolicies;
  readonly status: ClusterStatus;

  constructor({ quotas, ...options }: ClusterNodeOptions) {
    const { config, logger } = options;
    const service = new ClusterService({ ...options, quotas: () => quotas.moving });
    const policies = new ClusterPolicies({
      ...{ logger, quotas },
      otherGroups: () => service.otherGroups,
      askGroup: (group, words, timeoutMs) => service.askGroup(group, words, timeoutMs),
    });
    this.service = service;
    this.policies = policies;
    this.status = new ClusterStatus({
      config,
      map: () => service.current,
      ask: (member, words, timeoutMs) => service.askMember(member, words, timeoutMs),
      policies: () => policies.groups,
    });
  }

  get figures() {
    return this.service.figures;
  }

  describe(): ClusterFigures | undefined {
    return this.status.describe();
  }

  readonly forward = (request: ForwardRequest): Promise<ForwardAnswer> =>
    new Promise((resolve) => this.service.forward(request, resolve));

  /** When clients are served. */
  startWork(): void {
    this.policies.start();
    this.status.start();
    this.service.moving?.start();
  }

  async stop(): Promise<void> {
    this.policies.stop();
    this.status.stop();
    await this.service.stop();
  }
}
