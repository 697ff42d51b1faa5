import { changeParameters } from '@quotadb/config';
import type { Client } from '../session/client.js';
import type { ClientFilter, QuestionName, Questions } from '../session/questions.js';
import type { ServerState } from '../session/server-state.js';
import { collectFigures } from './collect-figures.js';
import { describeClient } from './describe-client.js';
import { replaceUsers } from './replace-users.js';

type Answers = {
  readonly [Name in QuestionName]: (state: ServerState, ask: Questions[Name]['ask']) => Questions[Name]['answer'];
};

export const answers: Answers = {
  figures: (state) => collectFigures(state),
  clients: ({ clients, clock }, filter) =>
    [...clients]
      .filter((client) => isMeant(client, filter))
      .map((client) => ({ id: client.id, line: describeClient(client, clock.now()) })),
  kill: ({ clients }, filter) => {
    const meant = [...clients].filter((client) => isMeant(client, filter));
    for (const client of meant) client.connection.destroy();
    return meant.length;
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
  hottest: ({ statistics: { rates, takes } }) => ({ rates: rates.hottest.list(), takes: takes.hottest.list() }),
  latency: ({ latency }) => latency.all(),
  resetLatency: ({ latency }, names) => latency.reset(names ?? undefined),
};

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
