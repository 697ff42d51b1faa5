import { integer, ProblemError, type ProblemPart } from '@quotadb/counts';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';
import { z } from 'zod';
import { WindowProblem } from './problems.js';

/** The forms of what comes in and goes out; the OpenAPI document is made from them. */
const HIGHEST_AMOUNT = 2n ** 63n - 1n;

const windowMs = z.int().min(1).max(MAX_WINDOW_MS).describe('The length of the window.');
const startMs = z
  .int()
  .min(0)
  .max(MAX_START_MS)
  .describe('The start of the window, milliseconds since 1970. Without one, it is the window that the server is in.');

export const incrementBody = z.strictObject({
  windowMs,
  amount: integer(0n, HIGHEST_AMOUNT).default(1),
  startMs: startMs.optional(),
});

export const windowQuery = z.strictObject({ windowMs, startMs: startMs.optional() });

export const windowCount = z.object({
  key: z.string(),
  count: integer(0n, HIGHEST_AMOUNT),
  startMs,
  endMs: z.int().min(1),
});

const limit = z.int().min(0).describe('The most that may be counted in any window of this length.');
const cost = z.int().min(0).default(1).describe('What the request counts for.');
const publishPercent = z
  .int()
  .min(0)
  .max(100)
  .describe(
    'At which part of the limit other regions are told of what is counted here. Without one, the server’s own.',
  );

/** What a request is counted against, in a body or in a query. */
export const rateRequest = z.strictObject({ limit, windowMs, cost, publishPercent: publishPercent.optional() });

export const rateDecision = z.object({
  key: z.string(),
  allowed: z.boolean(),
  limit,
  remaining: z.int().min(0),
  resetAfterMs: z.int().min(0).describe('Until the current window ends.'),
  retryAfterMs: z.int().min(-1).describe('After how long to try again; -1 where it is no use.'),
});

/** A query of integers, by the schema that names them. */
export function checkQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  query: string,
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const values: Record<string, number> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(schema.shape, name)) throw new ProblemError('unknown_parameter');
    values[name] = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  }
  return check(schema, values);
}

/** The key in its path segment, as the bytes it is kept by. */
export function checkKey(segment: string): Uint8Array {
  let key: string;
  try {
    key = decodeURIComponent(segment);
  } catch {
    throw new WindowProblem('invalid_key');
  }
  const bytes = Buffer.from(key);
  if (bytes.length === 0 || bytes.length > MAX_CELL_KEY_BYTES) throw new WindowProblem('invalid_key');
  return bytes;
}

export function check<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const errors = issues.map((issue) => ({ pointer: `/${issue.path.join('/')}`, detail: issue.message }));
  throw problemOf(issues[0]!, errors);
}

function problemOf(issue: z.core.$ZodIssue, errors: readonly ProblemPart[]): Error {
  if (issue.code === 'unrecognized_keys') return new ProblemError('unknown_field', { errors });
  switch (issue.path[0]) {
    case 'windowMs':
      return new WindowProblem('invalid_window', errors);
    case 'startMs':
      return new WindowProblem('invalid_start', errors);
    case 'limit':
      return new WindowProblem('invalid_limit', errors);
    case 'cost':
      return new WindowProblem('invalid_cost', errors);
    case 'amount':
      return new ProblemError('invalid_amount', { errors });
    default:
      return new ProblemError('invalid_body', { errors });
  }
}
