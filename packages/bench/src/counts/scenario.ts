import { Random } from '../load/random.js';
import { ZipfDistribution } from '../load/zipf.js';

/** Which counts the requests increase. */
export interface Scenario {
  readonly name: string;
  readonly description: string;
  readonly pick: (items: number, random: Random) => () => number;
}

/** The exponent usually taken for popularity on the web. */
const ZIPF_EXPONENT = 0.99;

/** Long enough that going round it again makes no pattern that a server could profit from. */
const SEQUENCE_LENGTH = 50_000;
const SEED = 20_260_101;

export const scenarios: readonly Scenario[] = [
  {
    name: 'uniform',
    description: 'every count as likely as any other',
    pick: (items, random) => () => random.nextBelow(items),
  },
  { name: 'hot', description: 'one count takes everything', pick: () => () => 0 },
  {
    name: 'zipf',
    description: 'a few counts take most (Zipf, 0.99)',
    pick: (items, random) => {
      const ranks = new ZipfDistribution(items, ZIPF_EXPONENT, random);
      return () => ranks.nextRank() - 1;
    },
  },
];

export function itemName(index: number): string {
  return `item-${index}`;
}

/** The items of one request after another; clients go round it. The same for every side and round. */
export function itemSequence(scenario: Scenario, items: number): string[] {
  const next = scenario.pick(items, new Random(SEED));
  return Array.from({ length: SEQUENCE_LENGTH }, () => itemName(next()));
}

export function requestPath(item: string): string {
  return `/api/v1/counts/${item}/increase`;
}

export const REQUEST_BODY = '{"amount":1}';
