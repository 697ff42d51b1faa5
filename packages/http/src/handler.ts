import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { sendProblem, sendResult } from './answer.js';
import type { ServedApi } from './api.js';
import { documentsOf } from './documents.js';
import { type Authenticate, admitCaller } from './guard.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';
import { readInput } from './request-input.js';
import { type Match, Router } from './router.js';
import type { Sites } from './sites.js';

export interface HandlerOptions<Caller extends object> {
  readonly authenticate: Authenticate<Caller>;
  /** The names of this server, and the pages that may use it. */
  readonly sites: Sites;
  /** Faults of the server itself, with the operation that met them. */
  readonly onError: (error: unknown, operationId: string) => void;
}

/** Answers requests from the table of operations, and serves the documents that are made from it. */
export function createHandler<Caller extends object>(
  apis: readonly ServedApi<Caller>[],
  { authenticate, sites, onError }: HandlerOptions<Caller>,
): RequestListener {
  const served = apis as readonly ServedApi[];
  const router = new Router([...served, documentsOf(served.map(({ api }) => api))]);

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    match: Match,
    query: string,
  ): Promise<void> {
    const { operation, context } = match.route;
    const caller = (await admitCaller(operation, request, { sites, authenticate })) as never;
    const input = (await readInput(match, query, request)) as never;
    if (operation.roles !== undefined) match.route.api.admits?.(caller, input);
    if (operation.respond === undefined) {
      sendResult(response, operation, await operation.run?.(context as never, input, caller));
    } else {
      await operation.respond(context as never, input, caller, { request, response });
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let match: Match | undefined;
    try {
      const url = request.url ?? '/';
      const queryAt = url.indexOf('?');
      const path = queryAt === -1 ? url : url.slice(0, queryAt);
      match = requireMatch(router, request, path);
      await answer(request, response, match, queryAt === -1 ? '' : url.slice(queryAt + 1));
    } catch (error) {
      const problem = error instanceof ProblemError ? error : match?.route.api.problemOf?.(error);
      if (problem === undefined) onError(error, match?.route.operation.id ?? '');
      if (response.headersSent) response.destroy();
      else sendProblem(response, problem ?? new ProblemError(problems.internal_error));
    }
  }

  return (request, response) => void serve(request, response);
}

function requireMatch(router: Router, { method = '', httpVersion, headers }: IncomingMessage, path: string): Match {
  if (headers.host === undefined && httpVersion === '1.1') throw new ProblemError(problems.malformed_request);
  const found = router.find(method, path);
  if ('route' in found) return found;
  if (found.length === 0) throw new ProblemError(problems.route_not_found);
  const allowed = [...new Set(found)].join(', ');
  throw new ProblemError(problems.method_not_allowed, { headers: { Allow: allowed } });
}
