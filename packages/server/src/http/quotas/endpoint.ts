import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAccess } from '../../access/bearer.js';
import { Need } from '../../access/roles.js';
import type { QuotaAnswer, QuotaRequest } from '../../services/lane-quotas.js';
import { isFromAnotherSite, letIn } from '../guard.js';
import { send } from '../health.js';
import { quotasDocument } from './openapi.js';
import { type QuotaOperation, quotaOperations } from './operations.js';
import { answerProblem, type ProblemCode, QuotaProblem } from './problems.js';

const PREFIX = '/api/v1/quotas';
const DOCUMENT = `${PREFIX}/openapi.json`;
const QUOTA = { bit: Need.quota, role: 'quota', what: 'quotas' };
const ADMIN = { bit: Need.admin, role: 'admin', what: 'changes of quotas' };
const MAXIMUM_BODY_BYTES = 64 * 1024;

export interface QuotasEndpointOptions {
  readonly access: HttpAccess;
  readonly names: () => readonly string[];
  readonly ask: (request: QuotaRequest, answered: (answer: QuotaAnswer) => void) => void;
}

interface Route {
  readonly operation: QuotaOperation;
  readonly pattern: RegExp;
}

/** `/api/v1/quotas…`: everything that the QUOTA commands do, over HTTP. */
export class QuotasEndpoint {
  private readonly options: QuotasEndpointOptions;
  private readonly routes: readonly Route[] = quotaOperations.map((operation) => ({
    operation,
    pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/, '([^/]+)')}$`),
  }));

  constructor(options: QuotasEndpointOptions) {
    this.options = options;
  }

  /** False where the address is none of its own. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const [path, query = ''] = (request.url ?? '').split('?', 2);
    if (path !== PREFIX && !path.startsWith(`${PREFIX}/`)) return false;
    void this.serve(request, response, path, new URLSearchParams(query));
    return true;
  }

  private async serve(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    try {
      const route = this.find(request, path);
      // A body of any type is taken, so a form on a page somewhere could spend the quotas of a server on this machine.
      if (isFromAnotherSite(request)) throw new QuotaProblem('forbidden', 'pages of other sites are not served');
      const need = isChangeOfPolicies(route?.operation) ? ADMIN : QUOTA;
      const user = await letIn(request, response, this.options.access, need);
      if (user === undefined) return;
      if (user.hasPrefixes) throw new QuotaProblem('forbidden', 'users with key prefixes are served over RESP only');
      send(response, 200, await this.answer(request, route, path, query));
    } catch (error) {
      this.fail(response, error as Error);
    }
  }

  private fail(response: ServerResponse, error: Error): void {
    if (error instanceof QuotaProblem) answerProblem(response, error);
    else send(response, 500, { code: 'internal_error', error: 'internal error' });
  }

  /** Undefined where what is asked for is no operation but a list or a document. */
  private find(request: IncomingMessage, path: string): Route | undefined {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && (path === PREFIX || path === DOCUMENT)) return undefined;
    const matching = this.routes.filter(({ pattern }) => pattern.test(path));
    if (matching.length === 0) throw new QuotaProblem('no_such_path', `there is nothing at ${path}`);
    const route = matching.find(({ operation }) => operation.method === (isRead ? 'GET' : request.method));
    if (route === undefined) throw new QuotaProblem('method_not_allowed', `${request.method} is not served at ${path}`);
    return route;
  }

  private async answer(
    request: IncomingMessage,
    route: Route | undefined,
    path: string,
    query: URLSearchParams,
  ): Promise<object> {
    if (route !== undefined) return this.run(route, path, await readBody(request, route.operation), query);
    return path === PREFIX ? { quotas: this.options.names() } : quotasDocument();
  }

  private async run(
    { operation, pattern }: Route,
    path: string,
    body: unknown,
    query: URLSearchParams,
  ): Promise<object> {
    const variable = decode(pattern.exec(path)?.[1] ?? '');
    const answer = await new Promise<QuotaAnswer>((resolve) =>
      this.options.ask(operation.request(variable, body as never, query), resolve),
    );
    if ('error' in answer) throw new QuotaProblem(this.codeOf(operation, variable), answer.error);
    return operation.answer(answer.value as never);
  }

  private codeOf({ path, refusal }: QuotaOperation, variable: string): ProblemCode {
    const isUnknown = path.includes('{name}') && !this.options.names().includes(variable);
    return isUnknown && refusal === 'quota_refused' ? 'no_such_quota' : refusal;
  }
}

function isChangeOfPolicies(operation: QuotaOperation | undefined): boolean {
  return operation?.refusal === 'policy_refused';
}

async function readBody(request: IncomingMessage, { body }: QuotaOperation): Promise<unknown> {
  if (body === undefined) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAXIMUM_BODY_BYTES) throw new QuotaProblem('body_too_large', `at most ${MAXIMUM_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  let content: unknown;
  try {
    content = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new QuotaProblem('malformed_json', 'the body is not a JSON document in UTF-8');
  }
  const parsed = body.safeParse(content);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new QuotaProblem('invalid_body', `${path.length === 0 ? 'the body' : path.join('.')}: ${message}`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new QuotaProblem('invalid_name', 'the name is not percent-encoded UTF-8');
  }
}
