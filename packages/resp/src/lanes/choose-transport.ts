import { fixedParameters } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { Logger } from 'pino';
import type { ServiceHandlers } from '../services/channel.js';
import type { PublishedPolicies } from '../services/lane-quotas.js';
import type { MainServices } from '../services/main-services.js';
import type { Client } from '../session/client.js';
import { Lane } from '../session/lane.js';
import type { ServerState } from '../session/server-state.js';
import { EpollUnavailable, type Libc, loadLibc } from '../transport/epoll/libc.js';
import { NetTransport } from '../transport/net/net-transport.js';
import type { Transport } from '../transport/transport.js';
import { EpollLanes } from './epoll-lanes.js';
import { endLaneThreads, laneCountOf } from './lane-threads.js';
import { mainLane, mainLaneState } from './main-lane.js';
import type { SharedBoards } from './messages.js';
import { SharedControl } from './shared-control.js';

const maximumBulkBytes = Number(fixedParameters['proto-max-bulk-len']);

/** The main thread as lanes use it. */
export interface MainThread {
  readonly services: ServiceHandlers<MainServices>;
  readonly boards: SharedBoards;
  readonly policies: () => PublishedPolicies;
}

/** Epoll and its lanes where the machine has them and the configuration allows them; otherwise node:net. */
export async function chooseTransport(
  state: ServerState,
  engine: Engine,
  logger: Logger,
  mainThread: MainThread,
): Promise<Transport> {
  const { config } = state;
  const isNet = config.transport === 'net' || config.respPort === -1;
  const libc = isNet ? undefined : await findLibc(config.transport === 'epoll', logger);
  if (libc !== undefined) return epollLanes(libc, state, engine, logger, mainThread);
  endLaneThreads();
  if (config.laneCount > 1) logger.warn('node:net serves clients on one thread; --lanes is ignored');
  return new NetTransport(new Lane({ engine, server: state, maximumBulkBytes, ...reportsTo(logger) }));
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

function epollLanes(libc: Libc, state: ServerState, engine: Engine, logger: Logger, mainThread: MainThread): Transport {
  const { config, identity } = state;
  const logScript = scriptLogger(logger);
  const laneCount = laneCountOf(config);
  const control = SharedControl.create(laneCount);
  const main = config.respTlsPort === -1 ? undefined : mainLaneState(state, control, () => lanes, logScript);
  const lanes: EpollLanes = new EpollLanes({
    libc,
    laneCount,
    control,
    engine,
    config,
    identity,
    maximumBulkBytes,
    ...mainThread,
    main: main ?? state,
    mainLane: main && mainLane(main, engine, control, maximumBulkBytes, reportsTo(logger)),
    reportFault: ({ error, client, command }) => logger.error({ err: error, client, command }, 'a command failed'),
    warn: (text) => logger.warn(text),
    logScript,
    laneDied: (error) => {
      // Its locks may stay held and its changes may be incomplete: the shared memory can no longer be trusted.
      logger.fatal({ err: error }, 'a lane died: the server stops, because shared memory may be damaged');
      process.exit(1);
    },
  });
  return lanes;
}

/** What scripts write with redis.log. */
export function scriptLogger(logger: Logger): (level: number, text: string) => void {
  const levels = ['trace', 'debug', 'info', 'warn'] as const;
  return (level, text) => logger[levels[level] ?? 'info']({ script: text }, 'a script logged a line');
}

/** The log of a lane on the main thread. */
function reportsTo(logger: Logger): {
  reportFault: (error: unknown, client: Client) => void;
  warn: (text: string) => void;
} {
  return {
    reportFault: (error, { id, lastCommand }) =>
      logger.error({ err: error, client: id, command: lastCommand }, 'a command failed'),
    warn: (text) => logger.warn(text),
  };
}
