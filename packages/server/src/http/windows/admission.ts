import type { IncomingMessage } from 'node:http';
import { ProblemError } from '@quotadb/counts';
import type { HttpAccess } from '../../access/bearer.js';
import { Need } from '../../access/roles.js';
import { hashToken } from '../../access/secrets.js';
import { WindowProblem } from './problems.js';

const BEARER = /^Bearer +([^ ]+) *$/i;

export interface AdmissionOptions {
  readonly access: HttpAccess;
  /** --counts-token: whoever has one may count here too, on all keys. */
  readonly countsTokens: readonly string[];
  /** Throws where the caller may not; asked where the server has neither a password nor users. */
  readonly admit: (authorization: string | undefined) => void;
}

export type Resource = 'windows' | 'limits';

/** Throws where the caller may not, resolves where it may. */
export type Admit = (request: IncomingMessage, resource: Resource, key: Uint8Array) => Promise<void>;

/** What the commands need that do the same. */
const NEEDS = {
  windows: { read: Need.read, count: Need.write },
  limits: { read: Need.read, count: Need.write },
} as const;

/**
 * Windows and limits over HTTP are for those who may use the commands that do the same, on the same keys: reading needs the
 * role read, counting the role write, and the prefixes of a user hold. A server that knows no users, but tokens for counts,
 * wants one of those.
 */
export function windowsAdmission({ access, countsTokens, admit }: AdmissionOptions): Admit {
  const hashes = new Set(countsTokens.map(hashToken));
  return async (request, resource, key) => {
    const { authorization } = request.headers;
    const token = BEARER.exec(authorization ?? '')?.[1];
    if (token !== undefined && hashes.has(hashToken(token))) return;
    if (access.isOpen) {
      admit(authorization);
      return;
    }
    const { remoteAddress, remotePort } = request.socket;
    const user = await access.identify(authorization, `${remoteAddress}:${remotePort}`);
    if (user === undefined)
      throw new ProblemError('unauthenticated', { headers: { 'WWW-Authenticate': 'Bearer realm="quotadb"' } });
    const need = NEEDS[resource][request.method === 'GET' ? 'read' : 'count'];
    if ((user.lacks & need) !== 0) throw new ProblemError('wrong_role');
    if (user.hasPrefixes && !user.mayTouch(key, 0, key.length)) throw new WindowProblem('key_forbidden');
  };
}
