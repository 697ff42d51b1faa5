import { problemDetails, problems } from '@quotadb/counts';
import { z } from 'zod';
import { sharedProblems, type WindowProblemCode, windowProblems } from './problems.js';
import { incrementBody, rateDecision, rateRequest, windowCount, windowQuery } from './schemas.js';

type Json = Record<string, unknown>;

const KEY = { name: 'key', in: 'path', required: true, schema: { type: 'string', minLength: 1 } };

/** The OpenAPI 3.1 document of the windows API, made from the schemas that check its requests. */
export function windowsOpenApi(): Json {
  const schemas = {
    Increment: plain(incrementBody),
    WindowCount: plain(windowCount),
    RateRequest: plain(rateRequest),
    RateDecision: plain(rateDecision),
    Problem: plain(problemDetails),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'QuotaDB windows and rate limits',
      version: '1.0.0',
      description:
        'Counts of fixed windows of time, and limits of sliding ones. A window belongs to a key, a length and a start; its count is gone soon after its end. ' +
        'Integers are exact to 64 bits: past 2^53 - 1 they are strings of digits.',
    },
    paths: {
      '/api/v1/windows/{key}/increment': {
        post: {
          operationId: 'incrementWindow',
          summary: 'Count in a window',
          description: 'Adds the amount, 1 unless it is said, to the count of the window.',
          security: [{ token: [] }, {}],
          parameters: [KEY],
          requestBody: { required: true, content: { 'application/json': { schema: reference('Increment') } } },
          responses: responses('WindowCount', [
            ...['invalid_key', 'invalid_window', 'invalid_start', 'window_over', 'count_out_of_range'],
            ...['out_of_memory', 'disk_failed'],
          ] as WindowProblemCode[]),
        },
      },
      '/api/v1/windows/{key}': {
        get: {
          operationId: 'readWindow',
          summary: 'Read the count of a window',
          description: 'Reading changes nothing. A window in which nothing was counted has the count 0.',
          security: [{ token: [] }, {}],
          parameters: [KEY, ...queryParameters(windowQuery)],
          responses: responses('WindowCount', ['invalid_key', 'invalid_window', 'invalid_start']),
        },
      },
      '/api/v1/limits/{key}/take': {
        post: {
          operationId: 'takeFromLimit',
          summary: 'Count a request if it is within the limit',
          description: 'A request that is denied is answered with 200 and `"allowed": false`, and counts for nothing.',
          ...countsAgainstLimit(),
        },
      },
      '/api/v1/limits/{key}/add': {
        post: {
          operationId: 'addToLimit',
          summary: 'Count what was admitted already',
          description: 'Counts whether it is within the limit or not, and says whether it is.',
          ...countsAgainstLimit(),
        },
      },
      '/api/v1/limits/{key}': {
        get: {
          operationId: 'peekAtLimit',
          summary: 'Say what would be decided',
          description: 'Counts nothing.',
          security: [{ token: [] }, {}],
          parameters: [KEY, ...queryParameters(rateRequest)],
          responses: responses('RateDecision', ['invalid_key', 'invalid_limit', 'invalid_window', 'invalid_cost']),
        },
      },
    },
    components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  };
}

function countsAgainstLimit(): Json {
  return {
    security: [{ token: [] }, {}],
    parameters: [KEY],
    requestBody: { required: true, content: { 'application/json': { schema: reference('RateRequest') } } },
    responses: responses('RateDecision', [
      ...['invalid_key', 'invalid_limit', 'invalid_window', 'invalid_cost', 'out_of_memory', 'disk_failed'],
    ] as WindowProblemCode[]),
  };
}

function responses(success: string, codes: readonly WindowProblemCode[]): Json {
  const kinds: Record<string, { status: number; detail: string }> = {
    ...Object.fromEntries([...codes, 'key_forbidden' as const].map((code) => [code, windowProblems[code]])),
    ...Object.fromEntries(sharedProblems.map((code) => [code, problems[code]])),
  };
  const found: Json = {
    200: { description: 'Done.', content: { 'application/json': { schema: reference(success) } } },
  };
  for (const status of new Set(Object.values(kinds).map((kind) => kind.status))) {
    const lines = Object.entries(kinds).filter(([, kind]) => kind.status === status);
    found[status] = {
      description: lines.map(([code, { detail }]) => `\`${code}\`: ${detail}`).join('\n\n'),
      content: { 'application/problem+json': { schema: reference('Problem') } },
    };
  }
  return found;
}

function queryParameters(query: z.ZodType): Json[] {
  const { properties, required } = plain(query) as { properties: Json; required: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function plain(schema: z.ZodType): Json {
  const { $schema: _, id: __, $defs, ...own } = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as Json;
  // A schema with a name is a reference to its only definition.
  if ($defs === undefined) return own;
  const [{ id: ___, ...definition }] = Object.values($defs as Record<string, Json>);
  return definition;
}
