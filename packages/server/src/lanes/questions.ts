import { replaceUsers } from '../access/replace-users.js';
import type { Users } from '../access/user.js';
import { describeClient } from '../commands/connection/client/describe.js';
import { changeParameters } from '../config/parameters.js';
import type { ServerState } from '../server-state.js';
import type { Client } from '../session/client.js';
import type { HotIdentifier } from '../statistics/hot-identifiers.js';
import type { LatencyEvent } from '../statistics/latency-monitor.js';
import type { SlowCommand } from '../statistics/slowlog.js';
import { collectFigures, type Figures } from './figures.js';

/**
 * Every lane keeps its own clients, statistics and logs, so that none waits for another. A command that needs all of
 * them asks each lane one of these questions. Questions and answers are plain data: they travel between threads.
 */
export interface Questions {
  figures: { ask: null; answer: Figures };
  clients: { ask: ClientFilter; answer: readonly DescribedClient[] };
  kill: { ask: ClientFilter; answer: number };
  configure: { ask: readonly (readonly [string, string])[]; answer: null };
  users: { ask: Users; answer: null };
  resetStatistics: { ask: null; answer: null };
  slowCommands: { ask: null; answer: readonly SlowCommand[] };
  resetSlowlog: { ask: null; answer: null };
  hottest: { ask: null; answer: Hottest };
  latency: { ask: null; answer: readonly LatencyEvent[] };
  resetLatency: { ask: readonly string[] | null; answer: readonly string[] };
}

export type QuestionName = keyof Questions;

/** Who is decided about most. */
export interface Hottest {
  readonly rates: readonly HotIdentifier[];
  readonly takes: readonly HotIdentifier[];
}

export interface ClientFilter {
  readonly ids?: readonly number[];
  readonly address?: string;
  readonly localAddress?: string;
  readonly user?: string;
  readonly connectedBeforeMs?: number;
  /** No client at all: a type that we do not have. */
  readonly none?: boolean;
  /** This one is left alone; whoever asks closes itself after it has answered. */
  readonly except?: number;
}

export interface DescribedClient {
  readonly id: number;
  readonly line: string;
}

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
    // Without credentials there is nothing left to prove.
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
  if (filter.ids !== undefined && !filter.ids.includes(client.id)) return false;
  if (filter.address !== undefined && client.address !== filter.address) return false;
  if (filter.localAddress !== undefined && client.localAddress !== filter.localAddress) return false;
  if (filter.user !== undefined && client.user?.name !== filter.user) return false;
  return filter.connectedBeforeMs === undefined || client.connectedAtMs <= filter.connectedBeforeMs;
}
