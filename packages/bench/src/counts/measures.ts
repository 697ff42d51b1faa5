import { type Summary, summaryOf } from '../results/summary.js';

/** What a load generator saw. */
export interface LoadResult {
  readonly requests: number;
  /** Anything but a 200. */
  readonly failures: number;
  readonly seconds: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMsP999: number;
}

export interface CountsRound {
  readonly requestsPerSecond: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMsP999: number;
  readonly failures: number;
  /** Of the service's own process, without the database. */
  readonly serviceCpuMicrosecondsPerRequest: number;
}

export type CountsMeasures = { readonly [Name in keyof CountsRound]: Summary };

export function summarizeRounds(rounds: readonly CountsRound[]): CountsMeasures {
  const names = Object.keys(rounds[0]!) as (keyof CountsRound)[];
  return Object.fromEntries(
    names.map((name) => [name, summaryOf(rounds.map((round) => round[name]))]),
  ) as CountsMeasures;
}
