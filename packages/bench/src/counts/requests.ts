import { type KeyDistribution, keySequence } from '../load/key-sequence.js';

/** Which counts the requests increase. */
export const scenarios = {
  uniform: 'every count as likely as any other',
  hot: 'one count takes everything',
  zipf: 'a few counts take most (Zipf, 0.99)',
} satisfies Partial<Record<KeyDistribution, string>>;

export type Scenario = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as Scenario[];

/** Long enough that repeating it makes no pattern that a server could profit from. */
const SEQUENCE_LENGTH = 50_000;
const SEED = 20_260_101;

export const REQUEST_BODY = '{"amount":1}';

export function itemName(index: number): string {
  return `item-${index}`;
}

/** The items of one request after another; clients repeat it. The same for every side and round. */
export function itemSequence(scenario: Scenario, items: number): string[] {
  const next = keySequence(scenario, items, SEED);
  return Array.from({ length: SEQUENCE_LENGTH }, () => itemName(next()));
}

export function requestPath(item: string): string {
  return `/api/v1/counts/${item}/increase`;
}

/** A load where every connection sends its next request when the last has been answered. */
export interface ClosedLoad {
  readonly port: number;
  readonly items: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** The figures of a load generator. */
export interface LoadResult {
  readonly requests: number;
  /** Answers other than 200. */
  readonly failures: number;
  readonly seconds: number;
  readonly latencyMsP50: number;
  readonly latencyMsP99: number;
  readonly latencyMsP999: number;
}
