import type { ServerResponse } from 'node:http';
import { writeExactJson } from './exact-json.js';
import type { Operation } from './operation.js';
import { type ProblemError, problemAnswer } from './problem.js';

/** Everything that a client gets for its request. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function answerOfResult({ success }: Operation, result: unknown): Answer {
  const { status = 200, mediaType = 'application/json', location } = success;
  const headers = { 'Cache-Control': 'no-store' };
  if (status === 204) return { status, headers, body: '' };
  return {
    status,
    headers: {
      ...headers,
      'Content-Type': mediaType,
      ...(location !== undefined && { Location: location(result as never) }),
    },
    body: mediaType === 'application/json' ? writeExactJson(result) : String(result),
  };
}

export function answerOfProblem(error: ProblemError): Answer {
  const { status, headers, body } = problemAnswer(error);
  return {
    status,
    headers: { ...headers, 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' },
    body,
  };
}

export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  const length = status === 204 ? {} : { 'Content-Length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...length }).end(body);
}

export function sendElsewhere(response: ServerResponse, location: string): void {
  response.writeHead(302, { Location: location, 'Cache-Control': 'no-store', Vary: 'Accept' }).end();
}
