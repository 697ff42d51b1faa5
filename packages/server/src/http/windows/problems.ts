import {
  type ProblemAnswer,
  type ProblemCode,
  type ProblemKind,
  type ProblemPart,
  problemAnswer,
} from '@quotadb/counts';
import { Status } from '@quotadb/engine';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';

const RETRY_AFTER_SECONDS = 1;

/** What can be wrong with a request to count in a window or against a limit, beyond what any request can have (see @quotadb/counts). */
export const windowProblems = {
  invalid_key: {
    status: 400,
    title: 'Invalid key',
    detail: `A key is 1 to ${MAX_CELL_KEY_BYTES} bytes of UTF-8, percent-encoded in the path.`,
  },
  invalid_window: {
    status: 400,
    title: 'Invalid window',
    detail: `windowMs must be an integer from 1 to ${MAX_WINDOW_MS}.`,
  },
  invalid_start: {
    status: 400,
    title: 'Invalid start',
    detail: `startMs must be an integer from 0 to ${MAX_START_MS}.`,
  },
  invalid_limit: {
    status: 400,
    title: 'Invalid limit',
    detail: `limit must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`,
  },
  invalid_cost: {
    status: 400,
    title: 'Invalid cost',
    detail: `cost must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`,
  },
  key_forbidden: {
    status: 403,
    title: 'Key forbidden',
    detail: 'This user may not touch that key.',
  },
  window_over: {
    status: 409,
    title: 'The window is over',
    detail: 'This window has been over for so long that its count is gone. Nothing was counted.',
  },
  count_out_of_range: {
    status: 409,
    title: 'Count out of range',
    detail: 'The count would leave the 64-bit range. Nothing was counted.',
  },
  out_of_memory: {
    status: 507,
    title: 'Out of memory',
    detail: 'There is no memory for a new count; those that exist go on counting. Nothing was counted.',
  },
  disk_failed: {
    status: 503,
    title: 'The disk failed',
    detail: 'What is counted must be on disk first (--fsync always), and the disk does not take it.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  },
} as const satisfies Record<string, ProblemKind>;

export type WindowProblemCode = keyof typeof windowProblems;

/** Those of any request that the operations on windows can have too. */
export const sharedProblems = [
  'malformed_json',
  'invalid_body',
  'unknown_field',
  'unknown_parameter',
  'invalid_amount',
  'body_too_large',
  'unsupported_media_type',
  'unauthenticated',
  'wrong_role',
  'route_not_found',
  'method_not_allowed',
  'internal_error',
] as const satisfies readonly ProblemCode[];

export class WindowProblem extends Error {
  readonly code: WindowProblemCode;
  readonly errors: readonly ProblemPart[] | undefined;

  constructor(code: WindowProblemCode, errors?: readonly ProblemPart[]) {
    super(code);
    this.name = 'WindowProblem';
    this.code = code;
    this.errors = errors;
  }
}

export function windowProblemAnswer(error: unknown): ProblemAnswer {
  if (!(error instanceof WindowProblem)) return problemAnswer(error);
  const { code } = error;
  const { status, title, detail, ...rest }: ProblemKind = windowProblems[code];
  const body = { type: `urn:quotadb:problem:${code}`, title, status, detail, code, errors: error.errors };
  const headers: Record<string, string> =
    rest.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(rest.retryAfterSeconds) };
  return { status, headers, body: JSON.stringify(body) };
}

/** The problem that the engine's refusal to count is. */
export function refusalOf(status: Status): WindowProblem {
  switch (status) {
    case Status.Overflow:
      return new WindowProblem('count_out_of_range');
    case Status.OutOfMemory:
      return new WindowProblem('out_of_memory');
    default:
      throw new Error(`a cell was refused with engine status ${status}`);
  }
}
