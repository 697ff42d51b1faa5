import type { Users } from '@quotadb/config';
import type { Figures } from '../statistics/figures.js';
import type { HotIdentifier } from '../statistics/hot-identifiers.js';
import type { LatencyEvent } from '../statistics/latency-monitor.js';
import type { SlowCommand } from '../statistics/slowlog.js';

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

/** How a lane reaches the others. */
export interface Lanes {
  readonly count: number;
  /** Which of them this is. */
  readonly index: number;
  /** All lanes' answers, this one's among them, later and on this lane's thread. */
  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
    answered: (answers: Questions[Name]['answer'][]) => void,
  ): void;
  /** The same to all lanes but this one, for what it does there; nobody waits for their answers. */
  tell<Name extends QuestionName>(name: Name, question: Questions[Name]['ask']): void;
}

/** A lane that is on its own. */
export const onlyLane: Lanes = {
  count: 1,
  index: 0,
  ask() {
    throw new Error('there is nobody to ask');
  },
  tell() {},
};
