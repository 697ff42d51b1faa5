import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { ProblemError } from './problem.js';
import type { ProblemCode } from './problem-registry.js';

/** A URL of this many ids is about as long as HTTP servers and proxies let through. */
export const MAX_ITEM_IDS = 1_000;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function isIdempotencyKey(text: string): boolean {
  return IDEMPOTENCY_KEY.test(text);
}

export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !isIdempotencyKey(header)) throw new ProblemError('invalid_idempotency_key');
  return header;
}

export function decodeItemId(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ProblemError('invalid_item_id');
  }
}

/** `?itemIds=a&itemIds=b`; `itemIds[]=` means the same. */
export function itemIdsOf(query: string): string[] {
  const itemIds: string[] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    if (name !== 'itemIds' && name !== 'itemIds[]') throw new ProblemError('unknown_parameter');
    itemIds.push(value);
  }
  if (itemIds.length === 0) throw new ProblemError('missing_item_ids');
  if (itemIds.length > MAX_ITEM_IDS) throw new ProblemError('too_many_item_ids');
  return itemIds;
}

export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { issues } = result.error;
  throw new ProblemError(codeOf(issues[0]!), {
    errors: issues.map((issue) => ({ pointer: `/${issue.path.join('/')}`, detail: issue.message })),
  });
}

function codeOf(issue: z.core.$ZodIssue): ProblemCode {
  if (issue.code === 'unrecognized_keys') return 'unknown_field';
  switch (issue.path[0]) {
    case 'amount':
      return 'invalid_amount';
    case 'value':
    case 'initialValue':
      return 'invalid_value';
    case 'itemId':
      return 'invalid_item_id';
    default:
      return 'invalid_body';
  }
}
