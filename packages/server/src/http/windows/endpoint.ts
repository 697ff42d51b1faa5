import type { IncomingMessage, ServerResponse } from 'node:http';
import { jsonInteger, ProblemError, problemCodeOf, readJsonBody } from '@quotadb/counts';
import type { HttpAccess } from '../../access/bearer.js';
import type { RateDecision, RateDecisions } from '../limits/rate-decisions.js';
import { type Admit, type Resource, windowsAdmission } from './admission.js';
import { windowsOpenApi } from './openapi.js';
import { WindowProblem, windowProblemAnswer } from './problems.js';
import { check, checkKey, checkQuery, incrementBody, rateRequest, windowQuery } from './schemas.js';
import type { WindowCount, WindowCounts } from './window-counts.js';

/**
 * Windows and rate limits on the HTTP port, beside the commands that do the same:
 *
 *   POST /api/v1/windows/{key}/increment     {"windowMs": 60000, "amount": 1}               WINDOW.INCRBY
 *   GET  /api/v1/windows/{key}?windowMs=60000                                               WINDOW.GET
 *   POST /api/v1/limits/{key}/take           {"limit": 100, "windowMs": 60000, "cost": 1}   RATE.LIMIT
 *   POST /api/v1/limits/{key}/add            the same                                       RATE.ADD
 *   GET  /api/v1/limits/{key}?limit=100&windowMs=60000                                      RATE.PEEK
 *   GET  /api/v1/openapi/windows.json
 */
export interface WindowsEndpointOptions {
  readonly windows: WindowCounts;
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
  readonly rates: RateDecisions;
  /** Throws where the caller may not, on a server without a password or users; given the Authorization header. */
  readonly admit: (authorization: string | undefined) => void;
  readonly onError: (error: unknown) => void;
  /** Who may what, where the server has a password or users. */
  readonly access: HttpAccess;
  readonly countsTokens: readonly string[];
}

const OWN_PATH = /^\/api\/v1\/(?:(?:windows|limits)(?:[/?]|$)|openapi\/windows\.json$)/;
const RESOURCE_PATH = /^\/api\/v1\/(windows|limits)\/([^/]+)(?:\/([a-z]+))?$/;
const OPENAPI_PATH = '/api/v1/openapi/windows.json';

/** What a route does with its key and what else it was given, checked already or to be checked. */
interface Route {
  readonly method: 'GET' | 'POST';
  readonly run: (options: WindowsEndpointOptions, key: Uint8Array, given: Given) => Promise<string> | string;
}

interface Given {
  readonly query: string;
  readonly body: unknown;
}

const routes: Readonly<Record<string, Route>> = {
  windows: {
    method: 'GET',
    run: ({ windows }, key, { query }) => countJson(key, windows.read(key, checkQuery(windowQuery, query))),
  },
  'windows/increment': {
    method: 'POST',
    run: async ({ windows }, key, { body }) => {
      const { amount, ...window } = check(incrementBody, body);
      return countJson(key, await windows.increment(key, window, BigInt(amount)));
    },
  },
  limits: {
    method: 'GET',
    run: ({ rates }, key, { query }) => decisionJson(key, rates.peek(key, checkQuery(rateRequest, query))),
  },
  'limits/take': {
    method: 'POST',
    run: async ({ rates }, key, { body }) => decisionJson(key, await rates.count(key, check(rateRequest, body), false)),
  },
  'limits/add': {
    method: 'POST',
    run: async ({ rates }, key, { body }) => decisionJson(key, await rates.count(key, check(rateRequest, body), true)),
  },
};

export class WindowsEndpoint {
  private readonly options: WindowsEndpointOptions;
  private readonly admit: Admit;

  constructor(options: WindowsEndpointOptions) {
    this.options = options;
    this.admit = windowsAdmission(options);
  }

  /** Takes a request if its address is one of these, and says whether it did. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (!OWN_PATH.test(request.url!)) return false;
    void this.serve(request, response);
    return true;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      send(response, 200, 'application/json', await this.answer(request));
    } catch (error) {
      if (!(error instanceof WindowProblem) && problemCodeOf(error) === 'internal_error') this.options.onError(error);
      const { status, headers, body } = windowProblemAnswer(error);
      if (!response.headersSent) send(response, status, 'application/problem+json', body, headers);
    }
  }

  private async answer(request: IncomingMessage): Promise<string> {
    const [path, query = ''] = split(request.url!);
    if (path === OPENAPI_PATH) {
      requireMethod(request, 'GET');
      return JSON.stringify(windowsOpenApi());
    }
    const match = RESOURCE_PATH.exec(path);
    const name = match?.[3] === undefined ? match?.[1] : `${match[1]}/${match[3]}`;
    const route = name !== undefined && Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (match === null || route === undefined) throw new ProblemError('route_not_found');
    requireMethod(request, route.method);
    const key = checkKey(match[2]!);
    await this.admit(request, match[1] as Resource, key);
    if (route.method === 'POST' && query !== '') throw new ProblemError('unknown_parameter');
    const body = route.method === 'POST' ? ((await readJsonBody(request)) ?? {}) : undefined;
    await this.options.share();
    return route.run(this.options, key, { query, body });
  }
}

function split(url: string): [path: string, query?: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}

function requireMethod(request: IncomingMessage, method: string): void {
  if (request.method !== method) throw new ProblemError('method_not_allowed', { headers: { Allow: method } });
}

/** Written by hand because JSON.stringify knows no 64-bit integers. */
function countJson(key: Uint8Array, { count, startMs, endMs }: WindowCount): string {
  const name = JSON.stringify(Buffer.from(key).toString());
  return `{"key":${name},"count":${jsonInteger(count)},"startMs":${startMs},"endMs":${endMs}}`;
}

function decisionJson(key: Uint8Array, decision: RateDecision): string {
  return JSON.stringify({ key: Buffer.from(key).toString(), ...decision });
}

function send(
  response: ServerResponse,
  status: number,
  mediaType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, {
      ...headers,
      'Cache-Control': 'no-store',
      'Content-Type': mediaType,
      'Content-Length': Buffer.byteLength(body),
    })
    .end(body);
}
