import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Answer, answerOfProblem, answerOfResult, sendAnswer, sendElsewhere } from './answer.js';
import type { ServedApi } from './api.js';
import { type Carry, ElsewhereError } from './carried.js';
import { documentsOf } from './documents.js';
import { type Authenticate, admitCaller } from './guard.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';
import { receiveBody } from './request-body.js';
import { readInput } from './request-input.js';
import { type Match, Router, requireMatch } from './router.js';
import type { Sites } from './sites.js';

export interface HandlerOptions<Caller extends object> {
  readonly authenticate: Authenticate<Caller>;
  /** The names of this server, and the pages that may use it. */
  readonly sites: Sites;
  /** Faults of the server itself, with the operation that met them. */
  readonly onError: (error: unknown, operationId: string) => void;
  /** Undefined where no other server has a part of what operations are about. */
  readonly carry?: Carry | undefined;
}

/** Answers requests from the table of operations, and serves the documents that are made from it. */
export function createHandler<Caller extends object>(
  apis: readonly ServedApi<Caller>[],
  { authenticate, sites, onError, carry }: HandlerOptions<Caller>,
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
    let body: Buffer = Buffer.alloc(0);
    const input = (await readInput(match, {
      query,
      headers: request.headers,
      body: (bounds) =>
        receiveBody(request, bounds)?.then((bytes) => {
          body = bytes;
          return bytes;
        }),
    })) as never;
    if (operation.roles !== undefined) match.route.api.admits?.(caller, input);
    if (operation.browserPage !== undefined && acceptsPages(request)) {
      sendElsewhere(response, operation.browserPage(context as never));
    } else if (operation.respond === undefined) {
      const run = async (): Promise<Answer> =>
        answerOfResult(operation, await operation.run?.(context as never, input, caller));
      const answered = await run().catch((error: unknown) => {
        if (carry === undefined || !(error instanceof ElsewhereError)) throw error;
        return carry(error, { method: operation.method, target: request.url ?? '/', body });
      });
      sendAnswer(response, answered);
    } else {
      await operation.respond(context as never, input, caller, { request, response });
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let match: Match | undefined;
    try {
      const { headers, httpVersion, method = '', url = '/' } = request;
      if (headers.host === undefined && httpVersion === '1.1') throw new ProblemError(problems.malformed_request);
      const found = requireMatch(router, method, url);
      match = found.match;
      await answer(request, response, match, found.query);
    } catch (error) {
      const problem = error instanceof ProblemError ? error : match?.route.api.problemOf?.(error);
      if (problem === undefined) onError(error, match?.route.operation.id ?? '');
      if (response.headersSent) response.destroy();
      else sendAnswer(response, answerOfProblem(problem ?? new ProblemError(problems.internal_error)));
    }
  }

  return (request, response) => void serve(request, response);
}

/** Browsers name text/html when a person opens an address; curl and clients of APIs do not. */
function acceptsPages({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /\btext\/html\b/i.test(headers.accept ?? '');
}
