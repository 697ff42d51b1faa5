import type { IncomingMessage, ServerResponse } from 'node:http';
import { credentialsMatch, DEFAULT_USER } from '../../commands/connection/credentials.js';
import type { Configuration } from '../../config/table.js';
import type { QuotaAnswer, QuotaRequest } from '../../quotas/quota-link.js';
import { send } from '../health.js';
import { quotasDocument } from './openapi.js';
import { type QuotaOperation, quotaOperations } from './operations.js';
import { answerProblem, type ProblemCode, QuotaProblem } from './problems.js';

const PREFIX = '/api/v1/quotas';
const MAXIMUM_BODY_BYTES = 64 * 1024;

export interface QuotasEndpointOptions {
  readonly config: Configuration;
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
    this.answer(request, path, new URLSearchParams(query)).then(
      (body) => send(response, 200, body),
      (error: Error) => this.fail(response, error),
    );
    return true;
  }

  private fail(response: ServerResponse, error: Error): void {
    if (error instanceof QuotaProblem) answerProblem(response, error);
    else send(response, 500, { code: 'internal_error', error: 'internal error' });
  }

  private async answer(request: IncomingMessage, path: string, query: URLSearchParams): Promise<object> {
    if (!this.isAllowed(request))
      throw new QuotaProblem('unauthenticated', 'the password is missing or wrong: Authorization: Bearer …');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && path === PREFIX) return { quotas: this.options.names() };
    if (isRead && path === `${PREFIX}/openapi.json`) return quotasDocument();
    const matching = this.routes.filter(({ pattern }) => pattern.test(path));
    if (matching.length === 0) throw new QuotaProblem('no_such_path', `there is nothing at ${path}`);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = matching.find(({ operation }) => operation.method === method);
    if (route === undefined) throw new QuotaProblem('method_not_allowed', `${request.method} is not served at ${path}`);
    return this.run(route, path, await readBody(request, route.operation), query);
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

  private isAllowed({ headers }: IncomingMessage): boolean {
    const { password } = this.options.config;
    if (password === '') return true;
    const [, given] = /^Bearer (.*)$/i.exec(headers.authorization ?? '') ?? [];
    return given !== undefined && credentialsMatch(DEFAULT_USER, Buffer.from(given), password);
  }
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
