import { STATUS_CODES } from 'node:http';
import { type ProblemError, problemAnswer } from './problem.js';

const KEEP_ALIVE = 'Connection: keep-alive\r\n';

let date = '';
let dateValidUntilMs = 0;

/** A whole response as text, for a socket that node:http does not write to. The body must be ASCII. */
export function rawResponse(status: number, mediaType: string, body: string, headers = KEEP_ALIVE): string {
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nCache-Control: no-store\r\nContent-Type: ${mediaType}\r\n` +
    `Content-Length: ${body.length}\r\nDate: ${dateNow()}\r\n${headers}\r\n${body}`
  );
}

export function rawProblemResponse(error: ProblemError, connection = KEEP_ALIVE): string {
  const { status, headers, body } = problemAnswer(error);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return rawResponse(status, 'application/problem+json', body, connection + lines.join(''));
}

function dateNow(): string {
  const nowMs = Date.now();
  if (nowMs >= dateValidUntilMs) {
    date = new Date(nowMs).toUTCString();
    dateValidUntilMs = nowMs - (nowMs % 1_000) + 1_000;
  }
  return date;
}
