import type { IncomingMessage, ServerResponse } from 'node:http';
import { jsonInteger, ProblemError, problemCodeOf, readJsonBody } from '@quotadb/counts';
import { windowsOpenApi } from './openapi.js';
import { WindowProblem, windowProblemAnswer } from './problems.js';
import { checkBody, checkKey, checkQuery } from './schemas.js';
import type { WindowCount, WindowCounts } from './window-counts.js';

/**
 * The windows API on the HTTP port:
 *
 *   POST /api/v1/windows/{key}/increment   {"windowMs": 60000, "amount": 1}
 *   GET  /api/v1/windows/{key}?windowMs=60000
 *   GET  /api/v1/openapi/windows.json
 */
export interface WindowsEndpointOptions {
  readonly windows: WindowCounts;
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
  /** Throws where the caller may not; given the Authorization header. */
  readonly admit: (authorization: string | undefined) => void;
  readonly onError: (error: unknown) => void;
}

const OWN_PATH = /^\/api\/v1\/(?:windows(?:[/?]|$)|openapi\/windows\.json$)/;
const KEY_PATH = /^\/api\/v1\/windows\/([^/]+)$/;
const INCREMENT_PATH = /^\/api\/v1\/windows\/([^/]+)\/increment$/;
const OPENAPI_PATH = '/api/v1/openapi/windows.json';

export class WindowsEndpoint {
  private readonly options: WindowsEndpointOptions;

  constructor(options: WindowsEndpointOptions) {
    this.options = options;
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
    const { windows, admit, share } = this.options;
    const increment = INCREMENT_PATH.exec(path);
    const read = KEY_PATH.exec(path);
    if (increment === null && read === null) throw new ProblemError('route_not_found');
    requireMethod(request, increment === null ? 'GET' : 'POST');
    admit(request.headers.authorization);
    const segment = (increment ?? read)![1];
    const key = checkKey(segment);
    await share();
    if (increment === null) return countJson(key, windows.read(key, checkQuery(query)));
    if (query !== '') throw new ProblemError('unknown_parameter');
    const { amount, ...window } = checkBody((await readJsonBody(request)) ?? {});
    return countJson(key, await windows.increment(key, window, BigInt(amount)));
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
