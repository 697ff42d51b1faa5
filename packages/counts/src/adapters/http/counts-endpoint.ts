import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { requireItemId } from '../../domain/item-id.js';
import { sendProblem, sendResult } from './answer.js';
import { DocumentPages } from './document-pages.js';
import type { FastLane } from './fast-lane/fast-lane.js';
import type { Audience, CountsApi, Operation, OperationInput } from './operation.js';
import { operationsFor } from './operations.js';
import { ProblemError, problemCodeOf } from './problem.js';
import { readJsonBody } from './request-body.js';
import { checkBody, decodeItemId, idempotencyKeyOf, itemIdsOf } from './request-input.js';
import { type Match, Router } from './router.js';
import type { Gatekeeper } from './tokens.js';

export interface CountsEndpointOptions {
  readonly api: CountsApi;
  /** Which parts of the API this listener serves; the others do not exist on it. */
  readonly audiences: readonly Audience[];
  readonly gatekeeper: Gatekeeper;
  readonly onError: (error: unknown) => void;
  readonly fastLane: FastLane;
}

export interface CountsEndpoint {
  /** Takes a request if its address belongs to the counts service, and says whether it did. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Lets the plainest changes on this server's connections go past node:http; `handle` is still needed for the rest. */
  readonly accelerate: (server: Server) => void;
}

const OWN_PATH = /^\/api\/v1\/(?:internal\/)?counts(?:[/?]|$)/;

export function createCountsEndpoint(options: CountsEndpointOptions): CountsEndpoint {
  const operations = operationsFor(options.audiences);
  const router = new Router(operations);
  const pages = new DocumentPages(operations);

  async function serve(request: IncomingMessage, response: ServerResponse, path: string, query: string): Promise<void> {
    try {
      if (pages.serve(request, response, path)) return;
      const { operation, itemId } = requireMatch(router.find(request.method!, path));
      options.gatekeeper.admit(request.headers.authorization, operation.audience);
      const input = inputOf(operation, itemId, query, request);
      sendResult(response, operation, await operation.run(options.api, input instanceof Promise ? await input : input));
    } catch (error) {
      if (problemCodeOf(error) === 'internal_error') options.onError(error);
      if (!response.headersSent) sendProblem(response, error);
    }
  }

  function handle(request: IncomingMessage, response: ServerResponse): boolean {
    const url = request.url!;
    if (!OWN_PATH.test(url)) return false;
    const queryAt = url.indexOf('?');
    const path = queryAt === -1 ? url : url.slice(0, queryAt);
    void serve(request, response, path, queryAt === -1 ? '' : url.slice(queryAt + 1));
    return true;
  }

  return {
    handle,
    accelerate: (server) => {
      if (options.audiences.includes('external')) options.fastLane.attach(server);
    },
  };
}

function requireMatch(found: Match | readonly string[] | undefined): Match {
  if (found === undefined) throw new ProblemError('route_not_found');
  if ('operation' in found) return found;
  throw new ProblemError('method_not_allowed', { headers: { Allow: found.join(', ') } });
}

type Input = OperationInput<unknown>;

/** Everything is checked before the operation sees it. Where there is no body to wait for, this does not wait. */
function inputOf(
  operation: Operation,
  segment: string,
  query: string,
  request: IncomingMessage,
): Input | Promise<Input> {
  const itemId = operation.path.endsWith('/counts') ? '' : requireItemId(decodeItemId(segment));
  if (!operation.readsMany && query !== '') throw new ProblemError('unknown_parameter');
  const itemIds = operation.readsMany ? itemIdsOf(query) : [];
  const idempotencyKey = operation.changes ? idempotencyKeyOf(request) : undefined;
  if (operation.body === undefined) return { itemId, itemIds, idempotencyKey, body: undefined };
  const { schema, optional } = operation.body;
  const complete = (body: unknown): Input => ({
    itemId,
    itemIds,
    idempotencyKey,
    body: checkBody(schema, body === undefined && optional ? {} : body),
  });
  const received = readJsonBody(request);
  return received instanceof Promise ? received.then(complete) : complete(received);
}
