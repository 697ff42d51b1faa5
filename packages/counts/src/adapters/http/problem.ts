import { CountError } from '../../domain/count-error.js';
import { type ProblemCode, problems } from './problem-registry.js';

/** What exactly is wrong, and where in the request body (a JSON pointer). */
export interface ProblemPart {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemExtras {
  readonly errors?: readonly ProblemPart[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown anywhere in the HTTP adapter; answered as application/problem+json. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(code);
    this.name = 'ProblemError';
    this.code = code;
    this.extras = extras;
  }
}

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function problemCodeOf(error: unknown): ProblemCode {
  return error instanceof CountError || error instanceof ProblemError ? error.code : 'internal_error';
}

export function problemAnswer(error: unknown): ProblemAnswer {
  const code = problemCodeOf(error);
  const { status, title, detail, retryAfterSeconds } = problems[code];
  const extras = error instanceof ProblemError ? error.extras : {};
  const headers: Record<string, string> = { ...extras.headers };
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds);
  const body = { type: `urn:quotadb:problem:${code}`, title, status, detail, code, errors: extras.errors };
  return { status, headers, body: JSON.stringify(body) };
}
