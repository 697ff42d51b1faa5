import { createHash } from 'node:crypto';
import type { Audience } from './operation.js';
import { ProblemError } from './problem.js';

/** Bearer tokens by role. */
export type RoleTokens = Readonly<Record<Audience, readonly string[]>>;

const BEARER = /^Bearer +([^ ]+) *$/i;

/**
 * Who may call what. Without tokens ("undefined") everybody may call everything, which is for addresses that only this
 * machine reaches; with them, a role that has none is closed. Tokens are looked up by digest, so that the time a lookup
 * takes says nothing about them.
 */
export class Gatekeeper {
  readonly #isOpen: boolean;
  readonly #mayCall: (token: string, audience: Audience) => boolean;
  readonly #roles = new Map<string, Audience>();

  constructor(tokens: RoleTokens | undefined, mayCall: (token: string, audience: Audience) => boolean = () => false) {
    this.#mayCall = mayCall;
    this.#isOpen = tokens === undefined;
    if (tokens === undefined) return;
    for (const role of ['external', 'internal'] as const) {
      for (const token of tokens[role]) {
        const known = this.#roles.get(digest(token));
        if (known !== undefined && known !== role) throw new Error('One token cannot be both external and internal.');
        this.#roles.set(digest(token), role);
      }
    }
  }

  admits(authorization: string | undefined, audience: Audience): boolean {
    return this.#isOpen || this.#roleFor(authorization, audience) === audience;
  }

  /** Throws the problem that tells the caller why not. */
  admit(authorization: string | undefined, audience: Audience): void {
    if (this.#isOpen) return;
    const role = this.#roleFor(authorization, audience);
    if (role === undefined) {
      throw new ProblemError('unauthenticated', { headers: { 'WWW-Authenticate': 'Bearer realm="quotadb"' } });
    }
    if (role !== audience) throw new ProblemError('wrong_role');
  }

  /** The role of the caller: the one asked for, where it has that among others. */
  #roleFor(authorization: string | undefined, audience: Audience): Audience | undefined {
    const token = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (token === undefined) return undefined;
    const role = this.#roles.get(digest(token));
    if (role !== undefined) return role;
    if (this.#mayCall(token, audience)) return audience;
    const other = audience === 'internal' ? 'external' : 'internal';
    return this.#mayCall(token, other) ? other : undefined;
  }
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
