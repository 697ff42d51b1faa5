import { createHash } from 'node:crypto';

/** Who an operation is for: systems that count, or systems that manage counts. */
export type Audience = 'external' | 'internal';

/** Bearer tokens by audience. */
export type AudienceTokens = Readonly<Record<Audience, readonly string[]>>;

/** The caller of an operation: the item ids that it may use. */
export interface CountsCaller {
  covers(itemId: string): boolean;
}

export interface CountsTokensOptions {
  /** Whether all who reach the port are let in; without tokens they are, unless it is said. */
  readonly isOpen?: (() => boolean) | undefined;
  /** Knows further tokens, those of users, each with the item ids that it may use. */
  readonly userOf?: ((token: string, audience: Audience) => CountsCaller | undefined) | undefined;
}

const BEARER = /^Bearer +([^ ]+) *$/i;
const everybody: CountsCaller = { covers: () => true };

/**
 * The tokens of the counts API. An open API is for addresses that only this machine reaches; one that is not open is
 * closed to an audience that has no token. Tokens are looked up by digest, so that the time a lookup takes says nothing
 * about them.
 */
export class CountsTokens {
  readonly #isOpen: () => boolean;
  readonly #userOf: (token: string, audience: Audience) => CountsCaller | undefined;
  readonly #audiences = new Map<string, Audience>();

  constructor(tokens: AudienceTokens | undefined, options: CountsTokensOptions = {}) {
    this.#isOpen = options.isOpen ?? (() => tokens === undefined);
    this.#userOf = options.userOf ?? (() => undefined);
    if (tokens === undefined) return;
    for (const audience of ['external', 'internal'] as const) {
      for (const token of tokens[audience]) {
        const known = this.#audiences.get(digest(token));
        if (known !== undefined && known !== audience) {
          throw new Error('A token is both external and internal: give each audience a token of its own.');
        }
        this.#audiences.set(digest(token), audience);
      }
    }
  }

  /** The audience whose token this is; undefined where it is none of these. */
  audienceOf(authorization: string | undefined): Audience | undefined {
    const token = bearerToken(authorization);
    return token === undefined ? undefined : this.#audiences.get(digest(token));
  }

  /** The caller that this audience is open to; undefined where the caller is not of it, as far as a token can say. */
  callerOf(authorization: string | undefined, audience: Audience): CountsCaller | undefined {
    if (this.#isOpen()) return everybody;
    const token = bearerToken(authorization);
    if (token === undefined) return undefined;
    const known = this.#audiences.get(digest(token));
    if (known === undefined) return this.#userOf(token, audience);
    return known === audience ? everybody : undefined;
  }
}

function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
