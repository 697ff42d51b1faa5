import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Operation } from './operation.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';
import type { Sites } from './sites.js';

export interface Credentials {
  /** The Authorization header. */
  readonly authorization: string | undefined;
  /** The client's, as `address:port`. */
  readonly address: string;
  /** Calls back when the client has gone, until the function that is returned is called. */
  readonly whenGone: (callback: () => void) => () => void;
}

/**
 * Why a caller is not served: its credentials are not known, do not have any of the roles, or were not checked because
 * too many of the same address have failed.
 */
export type Refusal = 'unauthenticated' | 'wrong_role' | 'busy';

/** Says who the caller is, if it has one of these roles. */
export type Authenticate<Caller extends object> = (
  credentials: Credentials,
  roles: readonly string[],
) => Caller | Refusal | Promise<Caller | Refusal>;

/** The caller; undefined where the operation is open to all. Throws where it may not run the operation. */
export async function admitCaller<Caller extends object>(
  operation: Operation,
  { headers, method, socket }: IncomingMessage,
  { sites, authenticate }: { readonly sites: Sites; readonly authenticate: Authenticate<Caller> },
): Promise<Caller | undefined> {
  sites.check(headers, method, operation);
  const { roles } = operation;
  if (roles === undefined) return undefined;
  const { authorization } = headers;
  const address = `${socket.remoteAddress}:${socket.remotePort}`;
  const caller = await authenticate({ authorization, address, whenGone: (callback) => watch(socket, callback) }, roles);
  if (typeof caller === 'object') return caller;
  if (caller === 'wrong_role') {
    const detail = `These credentials have none of the roles that this operation takes: ${roles.join(', ')}.`;
    throw new ProblemError(problems.wrong_role, { detail });
  }
  if (caller === 'busy') throw new ProblemError(problems.too_many_logins);
  throw new ProblemError(problems.unauthenticated, { headers: { 'WWW-Authenticate': 'Bearer realm="quotadb"' } });
}

/** A client that has ended its half has most likely gone. */
function watch(socket: Socket, callback: () => void): () => void {
  socket.on('end', callback).on('close', callback);
  return () => void socket.off('end', callback).off('close', callback);
}
