import type { ServerResponse } from 'node:http';
import type { CountValue } from '../../domain/count-value.js';
import { jsonInteger } from './exact-json.js';
import type { Operation, OperationResult } from './operation.js';
import { problemAnswer } from './problem.js';

export function sendResult(response: ServerResponse, operation: Operation, result: OperationResult): void {
  const headers = ['Cache-Control', 'no-store'];
  if (result === undefined) {
    response.writeHead(operation.success.status, headers).end();
    return;
  }
  const body = resultJson(result);
  headers.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)));
  if (operation.success.status === 201 && 'itemId' in result) {
    headers.push('Location', `${operation.path}/${encodeURIComponent(result.itemId)}`);
  }
  response.writeHead(operation.success.status, headers).end(body);
}

export function sendProblem(response: ServerResponse, error: unknown): void {
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

/** Written by hand because JSON.stringify knows no 64-bit integers. */
function resultJson(result: NonNullable<OperationResult>): string {
  if (Array.isArray(result)) return `[${result.map(countJson).join(',')}]`;
  if ('value' in result) return `{"itemId":${JSON.stringify(result.itemId)},"value":${jsonInteger(result.value)}}`;
  return countJson(result as CountValue);
}

function countJson({ itemId, currentValue, lastUpdatedAt }: CountValue): string {
  const value = jsonInteger(currentValue);
  return `{"itemId":${JSON.stringify(itemId)},"currentValue":${value},"lastUpdatedAt":"${lastUpdatedAt.toISOString()}"}`;
}
