import { Need } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import { LaneScripts } from '../scripts/lane-scripts.js';
import type { Client } from '../session/client.js';
import { Clients } from '../session/clients.js';
import { Lane } from '../session/lane.js';
import type { ServerState } from '../session/server-state.js';
import { Slowlog } from '../statistics/slowlog.js';
import { NetTransport } from '../transport/net/net-transport.js';
import type { EpollLanes } from './epoll-lanes.js';
import type { SharedControl } from './shared-control.js';

/**
 * The state of the main thread as one more lane beside the lane threads: with clients and a slow log of its own, and
 * all else shared with the rest of the main thread.
 */
export function mainLaneState(
  state: ServerState,
  control: SharedControl,
  others: () => EpollLanes,
  logScript: (level: number, text: string) => void,
): ServerState {
  return {
    ...state,
    clients: new Clients(() => control.nextClientId(), state.cluster === undefined ? 0 : Need.slot),
    slowlog: new Slowlog(() => control.nextSlowlogId()),
    scripts: new LaneScripts(state.scripts.board, control.laneCount, logScript),
    lanes: {
      count: control.laneCount + 1,
      index: control.laneCount,
      ask: (name, question, answered) => {
        void others()
          .ask(name, question)
          .then((answers) => answered([...answers]));
      },
      notifyOthers: (name, question) => others().notifyAll(name, question),
    },
  };
}

export function mainLane(
  server: ServerState,
  engine: Engine,
  control: SharedControl,
  maximumBulkBytes: number,
  reports: { reportFault: (error: unknown, client: Client) => void; warn: (text: string) => void },
): NetTransport {
  const lane = new Lane({ engine, server, maximumBulkBytes, ...reports });
  // Lane 0 deletes expired keys.
  return new NetTransport(lane, { expires: false, othersCount: () => control.connectionCount() });
}
