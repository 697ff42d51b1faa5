import { createHash } from 'node:crypto';

/** Who an operation is for: systems that count, or systems that manage counts. */
export type Audience = 'external' | 'internal';

/** Bearer tokens by audience. */
export type AudienceTokens = Readonly<Record<Audience, readonly string[]>>;

const BEARER = /^Bearer +([^ ]+) *$/i;

/**
 * The tokens of the counts API. Without any ("undefined") the API is open to all, which is for addresses that only this
 * machine reaches; with them, an audience that has none is closed. Tokens are looked up by digest, so that the time a
 * lookup takes says nothing about them.
 */
export class CountsTokens {
  readonly isOpen: boolean;
  readonly #mayCall: (token: string, audience: Audience) => boolean;
  readonly #audiences = new Map<string, Audience>();

  /** `mayCall` knows further tokens, those of users. */
  constructor(
    tokens: AudienceTokens | undefined,
    mayCall: (token: string, audience: Audience) => boolean = () => false,
  ) {
    this.isOpen = tokens === undefined;
    this.#mayCall = mayCall;
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

  /** Whether this caller may, as far as a token can say. */
  admits(authorization: string | undefined, audience: Audience): boolean {
    if (this.isOpen) return true;
    const token = bearerToken(authorization);
    if (token === undefined) return false;
    const known = this.#audiences.get(digest(token));
    return known === undefined ? this.#mayCall(token, audience) : known === audience;
  }
}

function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
