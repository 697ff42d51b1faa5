import { availableParallelism } from 'node:os';
import type { Engine } from '@quotadb/engine';
import type { Logger } from 'pino';
import { fixedParameters } from '../config/parameters.js';
import type { Persistence } from '../durability/persistence.js';
import { EpollLanes } from '../lanes/epoll-lanes.js';
import { SharedControl } from '../lanes/shared-control.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';
import type { ServerState } from '../server-state.js';
import type { Client } from '../session/client.js';
import { Lane } from '../session/lane.js';
import { adviseHugePages } from './epoll/huge-pages.js';
import { EpollUnavailable, type Libc, loadLibc } from './epoll/libc.js';
import { mainLane, mainLaneState } from './main-lane.js';
import { NetTransport } from './net-transport.js';
import type { Transport } from './transport.js';

/** More lanes than this gain nothing on the machines we know. */
const MAXIMUM_USUAL_LANES = 8;

const maximumBulkBytes = Number(fixedParameters['proto-max-bulk-len']);

/** What serves lanes from the main thread. */
export interface Services {
  readonly replication: ReplicationService;
  readonly quotas: QuotaService;
  readonly persistence: Persistence | undefined;
}

/** Epoll and its lanes where the machine has them and the configuration does not say otherwise. */
export async function chooseTransport(
  state: ServerState,
  engine: Engine,
  logger: Logger,
  services: Services,
): Promise<Transport> {
  const { replication } = services;
  const { config } = state;
  const isNet = config.transport === 'net' || config.respPort === -1;
  const libc = isNet ? undefined : await findLibc(config.transport === 'epoll', logger);
  if (libc !== undefined) return epollLanes(libc, state, engine, logger, services);
  if (config.laneCount > 1) logger.warn('node:net serves clients on one thread; --lanes is ignored');
  replication.onAcknowledged = () => state.replication.settle();
  return new NetTransport(
    new Lane({
      engine,
      server: state,
      maximumBulkBytes,
      reportFault: faultReporter(logger),
    }),
  );
}

async function findLibc(required: boolean, logger: Logger): Promise<Libc | undefined> {
  try {
    return await loadLibc();
  } catch (error) {
    if (required || !(error instanceof EpollUnavailable)) throw error;
    logger.info(`serving over node:net: ${error.message}`);
    return undefined;
  }
}

function epollLanes(libc: Libc, state: ServerState, engine: Engine, logger: Logger, services: Services): Transport {
  const { config, identity } = state;
  adviseHugePages(libc, engine.buffer as SharedArrayBuffer);
  const laneCount = config.laneCount || Math.min(availableParallelism(), MAXIMUM_USUAL_LANES);
  const control = SharedControl.create(laneCount);
  const main = config.respTlsPort === -1 ? undefined : mainLaneState(state, control, () => lanes);
  const lanes: EpollLanes = new EpollLanes({
    libc,
    laneCount,
    control,
    engine,
    config,
    identity,
    maximumBulkBytes,
    ...services,
    main: main ?? state,
    mainLane: main && mainLane(main, engine, control, maximumBulkBytes, faultReporter(logger)),
    reportFault: ({ error, client, command }) => logger.error({ err: error, client, command }, 'a command failed'),
    warn: (text) => logger.warn(text),
    laneDied: (error) => {
      // Its locks may be held for ever and its changes half made: the only honest thing left is to stop.
      logger.fatal({ err: error }, 'a lane died');
      process.exit(1);
    },
  });
  return lanes;
}

function faultReporter(logger: Logger): (error: unknown, client: Client) => void {
  return (error, { id, lastCommand }) =>
    logger.error({ err: error, client: id, command: lastCommand }, 'a command failed');
}
