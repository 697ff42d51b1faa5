import type { Engine } from '@quotadb/engine';
import {
  chooseTransport,
  type MainServices,
  type QuestionName,
  type Questions,
  type ServerState,
  type ServiceHandlers,
  type SharedBoards,
  type Transport,
} from '@quotadb/resp';
import type { Logger } from 'pino';
import type { Persistence } from '../durability/persistence.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';
import type { Certificates } from '../tls/certificates.js';

interface LanesOptions {
  readonly state: ServerState;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly services: ServiceHandlers<MainServices>;
  readonly boards: SharedBoards;
  readonly persistence: Persistence | undefined;
  readonly replication: ReplicationService;
  readonly quotas: QuotaService;
}

/** The lanes of a server, as its main thread uses them. */
export class Lanes {
  /** Undefined before they have started. */
  private transport: Transport | undefined = undefined;

  /** From now on they learn what the disk, the peers and the policies of this server do; clients come later. */
  async start(options: LanesOptions): Promise<void> {
    const { state, engine, logger, services, boards, persistence, replication, quotas } = options;
    const policies = () => quotas.published;
    const transport = await chooseTransport(state, engine, logger, { services, boards, policies });
    this.transport = transport;
    state.identity.transport = transport.name;
    state.identity.laneCount = transport.laneCount;
    persistence?.flushes.subscribe({
      diskReleased: () => {
        state.disk.settle();
        transport.diskReleased();
      },
    });
    replication.onAcknowledged = () => {
      state.replication.settle();
      transport.peersAcknowledged();
    };
    quotas.onPolicies = (published) => {
      state.quotas.replace(published);
      transport.replacePolicies(published);
    };
  }

  /** Lets clients in. */
  async listen({ config, identity }: ServerState, certificates: Certificates | undefined): Promise<void> {
    const transport = this.transport!;
    if (config.respPort !== -1) identity.respPort = await transport.listen(config.host, config.respPort);
    if (config.respTlsPort !== -1 && certificates !== undefined) {
      identity.respTlsPort = await transport.listenSecurely(config.host, config.respTlsPort, certificates);
    }
  }

  /** The answers of every lane; empty before they have started. */
  async ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]> {
    return (await this.transport?.ask(name, question)) ?? [];
  }

  /** Resolves when every lane takes locks: from then on the main thread may use the store. They have started. */
  share(): Promise<void> {
    return this.transport!.share();
  }

  /** Resolves when every lane takes locks and has ended the command that it was in. */
  async settle(): Promise<void> {
    await this.transport?.share();
    // A lane answers between two commands.
    await this.ask('figures', null);
  }

  async close(boundMs: number): Promise<void> {
    await this.transport?.close(boundMs);
  }
}
