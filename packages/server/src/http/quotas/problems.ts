import type { ServerResponse } from 'node:http';

/** Every problem that the quotas API can answer with (RFC 9457). Codes are stable: programs may rely on them, not on the words. */
export const problems = {
  malformed_json: { status: 400, title: 'Malformed JSON' },
  invalid_body: { status: 400, title: 'Invalid body' },
  invalid_name: { status: 400, title: 'Invalid name' },
  forbidden: { status: 403, title: 'Forbidden' },
  no_such_quota: { status: 404, title: 'No such quota' },
  no_such_path: { status: 404, title: 'No such path' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  reservation_refused: { status: 409, title: 'Reservation refused' },
  lease_refused: { status: 409, title: 'Lease refused' },
  policy_refused: { status: 409, title: 'Policy refused' },
  body_too_large: { status: 413, title: 'Body too large' },
  quota_refused: { status: 422, title: 'Quota refused' },
} as const;

export type ProblemCode = keyof typeof problems;

/** Thrown anywhere here; answered as application/problem+json. */
export class QuotaProblem extends Error {
  readonly code: ProblemCode;

  constructor(code: ProblemCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

export function answerProblem(response: ServerResponse, { code, message }: QuotaProblem): void {
  const { status, title } = problems[code];
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  // The rest of such a body is not read.
  if (code === 'body_too_large') headers.connection = 'close';
  response.writeHead(status, headers);
  response.end(`${JSON.stringify({ type: `urn:quotadb:problem:${code}`, title, status, detail: message, code })}\n`);
}
