import { changeParameters } from '@quotadb/config';
import { HELD } from '../services/cluster-board.js';
import type { Client } from '../session/client.js';
import type { ClientFilter, QuestionName, Questions } from '../session/questions.js';
import type { ServerState } from '../session/server-state.js';
import { collectFigures } from './collect-figures.js';
import { describeClient } from './describe-client.js';
import { replaceUsers } from './replace-users.js';

type Answers = {
  readonly [Name in QuestionName]: (state: ServerState, ask: Questions[Name]['ask']) => Questions[Name]['answer'];
};

const answers: Answers = {
  figures: (state) => collectFigures(state),
  unsettled: ({ clients, cluster }) =>
    cluster === undefined ? 0 : [...clients].filter((client) => isUnsettled(client, cluster.owners)).length,
  clients: ({ clients, clock }, filter) =>
    [...clients]
      .filter((client) => isMeant(client, filter))
      .map((client) => ({ id: client.id, line: describeClient(client, clock.now()) })),
  kill: ({ clients }, filter) => {
    const meant = [...clients].filter((client) => isMeant(client, filter));
    for (const client of meant) client.connection.destroy();
    return meant.length;
  },
  /** Null ends a pause. */
  pause: ({ clients, clock }, pause) => {
    if (pause === null) clients.unpause();
    else clients.pauseUntil(clock.monotonic() + pause.forMs, pause.scope);
    return null;
  },
  unblock: ({ clients }, { id, isError }) => {
    const client = clients.find(id);
    if (client === undefined || !client.blocked) return false;
    client.unblocked = isError;
    client.connection.wake();
    return true;
  },
  monitoring: ({ monitors }, { lane, count }) => {
    monitors.note(lane, count);
    return null;
  },
  monitored: ({ monitors }, commands) => {
    monitors.feedHere(commands);
    return null;
  },
  configure: ({ config, clients, access }, changes) => {
    changeParameters(config, changes);
    // Without credentials every client is logged in.
    if (access.isOpen) for (const client of clients) if (!client.authenticated) client.become(access.newcomer());
    return null;
  },
  users: (state, users) => {
    replaceUsers(state, users);
    return null;
  },
  resetStatistics: ({ statistics }) => {
    statistics.reset();
    return null;
  },
  slowCommands: ({ slowlog }) => slowlog.newest(slowlog.length),
  resetSlowlog: ({ slowlog }) => {
    slowlog.reset();
    return null;
  },
  hottest: ({ statistics: { rates, takes, limits } }) => ({
    rates: rates.hottest.list(),
    takes: takes.hottest.list(),
    denied: limits.denied.list(),
  }),
  latency: ({ latency }) => latency.all(),
  resetLatency: ({ latency }, names) => latency.reset(names ?? undefined),
};

function isUnsettled({ isWaiting, slot, slotCommand, lastCommand }: Client, owners: Uint8Array): boolean {
  return isWaiting && slot >= 0 && slotCommand === lastCommand && owners[slot] === HELD;
}

export function isMeant(client: Client, filter: ClientFilter): boolean {
  if (filter.none || client.id === filter.except) return false;
  if (filter.ids !== undefined && !filter.ids.has(client.id)) return false;
  if (filter.address !== undefined && client.address !== filter.address) return false;
  if (filter.localAddress !== undefined && client.localAddress !== filter.localAddress) return false;
  if (filter.user !== undefined && client.user?.name !== filter.user) return false;
  return filter.connectedBeforeMs === undefined || client.connectedAtMs <= filter.connectedBeforeMs;
}

export function answer<Name extends QuestionName>(
  state: ServerState,
  name: Name,
  question: Questions[Name]['ask'],
): Questions[Name]['answer'] {
  return answers[name](state, question);
}
