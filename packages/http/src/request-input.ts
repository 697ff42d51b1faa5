import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { Api } from './api.js';
import { describeIssue, describeValue } from './mistake-detail.js';
import { type Mistake, type Problem, ProblemError } from './problem.js';
import { problems } from './problems.js';
import { type BodyBounds, parseBody } from './request-body.js';
import type { Match } from './router.js';

type Values = Readonly<Record<string, unknown>>;
type Place = 'path' | 'query' | 'headers' | 'body';

export interface CheckedInput {
  readonly path: Values;
  readonly query: Values;
  readonly headers: Values;
  readonly body: unknown;
}

/** What a request brings beside its path. */
export interface RawRequest {
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes of the body, as far as the bounds allow; asked for after the rest is checked. */
  readonly body: (bounds: BodyBounds) => Buffer | undefined | Promise<Buffer>;
}

/** Everything is checked before the operation sees it. Where there is no body to wait for, this does not wait. */
export function readInput(
  { route: { api, operation }, values }: Match,
  request: RawRequest,
): CheckedInput | Promise<CheckedInput> {
  const { parameters, query: querySchema, headers: headersSchema, body } = operation;
  const decoded = decodeValues(api, values);
  const input = {
    path: parameters === undefined ? decoded : check(api, parameters, decoded, 'path'),
    query: querySchema === undefined ? {} : check(api, querySchema, queryValues(querySchema, request.query), 'query'),
    headers:
      headersSchema === undefined
        ? {}
        : check(api, headersSchema, headerValues(headersSchema, request.headers), 'headers'),
  };
  if (body === undefined) return { ...input, body: undefined };
  const complete = (bytes: Buffer | undefined): CheckedInput => {
    const given = parseBody(bytes);
    return { ...input, body: check(api, body.schema, given === undefined && body.isOptional ? {} : given, 'body') };
  };
  const received = request.body(body);
  return received instanceof Promise ? received.then(complete) : complete(received);
}

function decodeValues(api: Api, values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    try {
      decoded[name] = value.includes('%') ? decodeURIComponent(value) : value;
    } catch {
      const errors = [{ pointer: `/${name}`, detail: 'not percent-encoded UTF-8' }];
      const issue = { code: 'custom', path: [name], message: '', input: value } as z.core.$ZodIssue;
      throw new ProblemError(problemOf(api, issue, 'path'), { errors });
    }
  }
  return decoded;
}

const INTEGER = /^\d{1,16}$/;
const SHOWN_MISTAKES = 3;
/** Issues then have the value that they are about. */
const REPORTING = { reportInput: true } as const;

/**
 * The values of a query by their names, in the types that the schema has for them. `name[]` is another name for a list.
 */
function queryValues(schema: z.ZodObject, query: string): Values {
  const values: Record<string, unknown> = {};
  if (query === '') return values;
  const types = typesOf(schema);
  for (const [written, text] of new URLSearchParams(query)) {
    const name = written.endsWith('[]') && types[written.slice(0, -2)] === 'array' ? written.slice(0, -2) : written;
    if (types[name] === 'array') {
      values[name] ??= [];
      (values[name] as string[]).push(text);
    } else if (types[name] === 'integer') values[name] = INTEGER.test(text) ? Number(text) : text;
    else values[name] = text;
  }
  return values;
}

const knownTypes = new WeakMap<z.ZodObject, Readonly<Record<string, string | undefined>>>();

function typesOf(schema: z.ZodObject): Readonly<Record<string, string | undefined>> {
  let types = knownTypes.get(schema);
  if (types === undefined) {
    // A new object of its fields has no name, under which they would be put away.
    const fields = z.object(schema.shape);
    const { properties = {} } = z.toJSONSchema(fields, { io: 'input', unrepresentable: 'any' });
    types = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, (property as { type?: string }).type]),
    );
    knownTypes.set(schema, types);
  }
  return types;
}

function headerValues(schema: z.ZodObject, headers: IncomingHttpHeaders): Values {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, headers[name.toLowerCase()]]));
}

function check<Schema extends z.ZodType>(api: Api, schema: Schema, given: unknown, place: Place): z.output<Schema> {
  const result = schema.safeParse(given, REPORTING);
  if (result.success) return result.data;
  const { issues } = result.error;
  const errors = issues.map((issue) => ({
    pointer: `/${issue.path.join('/')}`,
    detail: describeIssue(issue, schema),
  }));
  // Of several mistakes in a query, a misspelt name explains the value that is missing.
  const unknown = place === 'query' ? issues.findIndex(({ code }) => code === 'unrecognized_keys') : -1;
  const first = Math.max(unknown, 0);
  const problem = problemOf(api, issues[first]!, place);
  const isGeneral = (Object.values(problems) as Problem[]).includes(problem);
  const mistakes = isGeneral ? asSentence(summarize(errors)) : describeValue(issues[first]!);
  throw new ProblemError(problem, { detail: `${problem.detail} ${mistakes}`, errors });
}

function asSentence(text: string): string {
  return text.endsWith('?') ? text : `${text}.`;
}

/** The first mistakes in one line: a misspelt name often explains a value that is missing. */
function summarize(errors: readonly Mistake[]): string {
  const shown = errors.slice(0, SHOWN_MISTAKES);
  return shown.map(({ pointer, detail }) => (pointer === '/' ? detail : `${pointer.slice(1)} ${detail}`)).join('; ');
}

function problemOf({ fieldProblems = {} }: Api, issue: z.core.$ZodIssue, place: Place): Problem {
  if (issue.code === 'unrecognized_keys') return place === 'body' ? problems.unknown_field : problems.unknown_parameter;
  const [name] = issue.path;
  const own = typeof name === 'string' && Object.hasOwn(fieldProblems, name) ? fieldProblems[name] : undefined;
  if (own !== undefined) return typeof own === 'function' ? own(issue) : own;
  return place === 'body' ? problems.invalid_body : problems.invalid_parameter;
}
