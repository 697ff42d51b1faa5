import type { ServerResponse } from 'node:http';
import { writeExactJson } from './exact-json.js';
import type { Operation } from './operation.js';
import { type ProblemError, problemAnswer } from './problem.js';

export function sendResult(response: ServerResponse, { success }: Operation, result: unknown): void {
  const { status = 200, mediaType = 'application/json', location } = success;
  const headers = ['Cache-Control', 'no-store'];
  if (status === 204) {
    response.writeHead(status, headers).end();
    return;
  }
  const body = mediaType === 'application/json' ? writeExactJson(result) : String(result);
  headers.push('Content-Type', mediaType, 'Content-Length', String(Buffer.byteLength(body)));
  if (location !== undefined) headers.push('Location', location(result as never));
  response.writeHead(status, headers).end(body);
}

export function sendProblem(response: ServerResponse, error: ProblemError): void {
  const { status, headers, body } = problemAnswer(error);
  response
    .writeHead(status, {
      ...headers,
      'Cache-Control': 'no-store',
      'Content-Type': 'application/problem+json',
      'Content-Length': Buffer.byteLength(body),
    })
    .end(body);
}
