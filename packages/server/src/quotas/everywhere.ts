import type { QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { askRegions } from './every-region.js';

/** How long a reset waits for other regions, and QUOTA.INFO for what they have set aside. */
const RESET_TIMEOUT_MS = 6000;
const UNSPENT_TIMEOUT_MS = 1000;

type Answered = (answer: QuotaAnswer) => void;
type Fields = readonly (readonly [string, string | number])[];
type ResetRequest = Extract<QuotaRequest, { readonly kind: 'reset' }>;
type UnspentRequest = Extract<QuotaRequest, { readonly kind: 'unspent' }>;

export interface EverywhereOptions {
  readonly region: string;
  /** All servers that are known, connected or not; and those that can be reached. */
  readonly knownServers: () => Iterable<string>;
  readonly reachable: () => Iterable<string>;
  /** Has a region do it. */
  readonly route: (to: string, request: ResetRequest | UnspentRequest, answered: Answered) => void;
}

/** Requests that every region has a part in. */
export class Everywhere {
  private readonly options: EverywhereOptions;

  constructor(options: EverywhereOptions) {
    this.options = options;
  }

  reset(request: ResetRequest, answered: Answered): void {
    const { region, route } = this.options;
    const ask = (to: string, done: Answered) => route(to, { ...request, region: to }, done);
    // First here: a mistake in the request is one everywhere.
    ask(region, (own) => {
      if ('error' in own) {
        answered(own);
        return;
      }
      const others = [...this.options.knownServers()].filter((other) => other !== region);
      askRegions(others, ask, RESET_TIMEOUT_MS, ({ values, missing }) => {
        const refunded = [own.value, ...values.values()] as { readonly refunded: number }[];
        const sum = refunded.reduce((total, one) => total + one.refunded, 0);
        answered({ value: { refunded: sum, regions: [region, ...values.keys()], missing } });
      });
    });
  }

  /** Tokens that other regions have set aside are not spent: each reports how many it has. */
  addUnspent(name: string, subject: Uint8Array, fields: Fields, answered: Answered): void {
    const ask = (to: string, done: Answered) =>
      this.options.route(to, { kind: 'unspent', region: to, name, subject }, done);
    askRegions([...this.options.reachable()], ask, UNSPENT_TIMEOUT_MS, ({ values, missing }) => {
      const unspent = ([...values.values()] as number[]).reduce((sum, one) => sum + one, 0);
      const everywhere = fields.find(([field]) => field === 'remaining-everywhere')?.[1] ?? 0;
      const more: Fields = [
        ['unspent-elsewhere', unspent],
        ['remaining-with-unspent', Number(everywhere) + unspent],
        ['unspent-unknown', missing.join(' ')],
      ];
      answered({ value: [...fields, ...more] });
    });
  }
}
