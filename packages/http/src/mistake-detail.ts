import { nearestOf } from '@quotadb/wire';
import { z } from 'zod';

/** Longer values are cut in messages. */
const SHOWN_CHARACTERS = 64;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** A mistake in a request, in words: the value, and the values that are allowed in its place. */
export function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodType): string {
  const { input } = issue;
  const isMissing = input === undefined && issue.path.length > 0;
  const value = input === undefined ? 'nothing' : showValue(input);
  if (input === undefined && !isMissing) return 'It is missing: give a JSON object';
  switch (issue.code) {
    case 'invalid_type': {
      if (typeof input === 'bigint') return describeBig(input, schema, issue.path);
      const expected = TYPE_NAMES[issue.expected] ?? issue.expected;
      return isMissing ? `is missing: give ${expected}` : `${value} is not ${expected}`;
    }
    case 'too_small':
      return `${value} is too small: at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `${value} is too large: at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'invalid_value': {
      const allowed = issue.values.map(showValue).join(' or ');
      return isMissing ? `is missing: give ${allowed}` : `${value} is not allowed: give ${allowed}`;
    }
    case 'unrecognized_keys':
      return issue.keys.map((key) => describeUnknown(key, schema)).join('; ');
    case 'custom':
      return isMissing ? `is missing: ${issue.message}` : `${value}: ${issue.message}`;
    default:
      return `${value}: ${issue.message}`;
  }
}

/** An integer past 2^53, which is read exactly, where a field takes numbers up to there or fewer. */
function describeBig(value: bigint, schema: z.ZodType, [name]: readonly PropertyKey[]): string {
  const field = schema instanceof z.ZodObject ? schema.shape[String(name)] : undefined;
  const { minimum, maximum } = (
    field === undefined ? {} : z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' })
  ) as {
    minimum?: number;
    maximum?: number;
  };
  return value > 0n
    ? `${value} is too large: at most ${maximum ?? Number.MAX_SAFE_INTEGER}`
    : `${value} is too small: at least ${minimum ?? Number.MIN_SAFE_INTEGER}`;
}

/** For a problem whose own text names the allowed values: the value that was given. */
export function describeValue({ input }: z.core.$ZodIssue): string {
  return input === undefined ? 'It is missing.' : `It is ${showValue(input)}.`;
}

/** Of a text the length is counted, of a list its items; a number counts itself. */
function unitOf(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';
}

function describeUnknown(key: string, schema: z.ZodType): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const nearest = nearestOf(key, known);
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return `"${key.slice(0, SHOWN_CHARACTERS)}" is not known${hint}`;
}

function showValue(value: unknown): string {
  const text = typeof value === 'bigint' || Number.isNaN(value) ? String(value) : (JSON.stringify(value) ?? '');
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
