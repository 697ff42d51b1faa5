/** One kind of problem (RFC 9457). Codes are stable: programs may rely on them, not on the words. */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  /** What happened, and what the caller can do about it. */
  readonly detail: string;
  readonly retryAfterSeconds: number | undefined;
}

/** `retryAfterSeconds` says that nothing was applied and the same request may be sent again. */
type Row = readonly [status: number, title: string, detail: string, retryAfterSeconds?: number];

/** A table of problems, each by its code. */
export function defineProblems<const Code extends string>(
  rows: Readonly<Record<Code, Row>>,
): Readonly<Record<Code, Problem>> {
  const problems = Object.entries<Row>(rows).map(([code, [status, title, detail, retryAfterSeconds]]) => [
    code,
    { code, status, title, detail, retryAfterSeconds },
  ]);
  return Object.fromEntries(problems) as Record<Code, Problem>;
}

/** One mistake in a request, and the place of it: a JSON pointer into the body, the query or the path. */
export interface Mistake {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemExtras {
  /** In place of the detail of this kind of problem. */
  readonly detail?: string;
  readonly errors?: readonly Mistake[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** Thrown by an operation or on the way to it; answered as application/problem+json. */
export class ProblemError extends Error {
  readonly problem: Problem;
  readonly extras: ProblemExtras;

  constructor(problem: Problem, extras: ProblemExtras = {}) {
    super(extras.detail ?? problem.detail);
    this.name = 'ProblemError';
    this.problem = problem;
    this.extras = extras;
  }
}

export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function problemAnswer({ problem, message, extras }: ProblemError): ProblemAnswer {
  const { code, status, title, retryAfterSeconds } = problem;
  const { errors, headers, members } = extras;
  const body = { type: `urn:quotadb:problem:${code}`, title, status, detail: message, code, errors, ...members };
  return {
    status,
    headers: { ...headers, ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }) },
    body: JSON.stringify(body),
  };
}
