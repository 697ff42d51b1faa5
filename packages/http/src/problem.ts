/** One kind of problem (RFC 9457). Codes are stable: programs may rely on them, not on the words. */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  /** What happened, and what the caller can do about it. */
  readonly detail: string;
  /** The same request may be sent again after this long: nothing was applied. */
  readonly retryAfterSeconds?: number;
}

/** A table of problems, each by its code. */
export function defineProblems<const Code extends string>(
  kinds: Readonly<Record<Code, Omit<Problem, 'code'>>>,
): Readonly<Record<Code, Problem>> {
  const entries = Object.entries<Omit<Problem, 'code'>>(kinds);
  return Object.fromEntries(entries.map(([code, kind]) => [code, { code, ...kind }])) as Record<Code, Problem>;
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
