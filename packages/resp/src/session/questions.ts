import type { Users } from '@quotadb/config';
import type { Figures } from '../statistics/figures.js';
import type { HotIdentifier } from '../statistics/hot-identifiers.js';
import type { LatencyEvent } from '../statistics/latency-monitor.js';
import type { SlowCommand } from '../statistics/slowlog.js';
import type { MonitoredCommands } from './monitors.js';

/**
 * Every lane has its own clients, statistics and logs, so that no lane waits for another. A command that needs all of
 * them asks each lane one of these questions. Questions and answers are plain data, sent between threads.
 */
export interface Questions {
  figures: { ask: null; answer: Figures };
  /** Commands that have begun, wait for an answer, and are of slots that are not here any more. */
  unsettled: { ask: null; answer: number };
  clients: { ask: ClientFilter; answer: readonly DescribedClient[] };
  kill: { ask: ClientFilter; answer: number };
  pause: { ask: { readonly forMs: number; readonly scope: 'all' | 'write' } | null; answer: null };
  unblock: { ask: { readonly id: number; readonly isError: boolean }; answer: boolean };
  monitoring: { ask: { readonly lane: number; readonly count: number }; answer: null };
  monitored: { ask: MonitoredCommands; answer: null };
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

/** The identifiers with the most decisions. */
export interface Hottest {
  readonly rates: readonly HotIdentifier[];
  readonly takes: readonly HotIdentifier[];
  /** Subjects that limits denied; the scope is that of `scopeOfLimit`. */
  readonly denied: readonly HotIdentifier[];
}

export interface ClientFilter {
  readonly ids?: ReadonlySet<number>;
  readonly address?: string;
  readonly localAddress?: string;
  readonly user?: string;
  readonly connectedBeforeMs?: number;
  /** Matches no client: QuotaDB has no clients of this type. */
  readonly none?: boolean;
  /** Not this one: CLIENT KILL closes its own connection after its reply. */
  readonly except?: number;
}

export interface DescribedClient {
  readonly id: number;
  readonly line: string;
}

/** How a lane reaches the others. */
export interface Lanes {
  readonly count: number;
  /** Which of them this is. */
  readonly index: number;
  /** Passes the answers of all lanes, this one included, to `answered`, later and on this lane's thread. */
  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
    answered: (answers: Questions[Name]['answer'][]) => void,
  ): void;
  /** Sends the question to all other lanes for its effect there; their answers are dropped. */
  notifyOthers<Name extends QuestionName>(name: Name, question: Questions[Name]['ask']): void;
}

/** For a lane without others. */
export const onlyLane: Lanes = {
  count: 1,
  index: 0,
  ask() {
    throw new Error('a single lane has no other lanes to ask: answer the question directly');
  },
  notifyOthers() {},
};
