import { z } from 'zod';
import type { Operation } from './operation.js';
import { operationsFor } from './operations.js';
import { type ProblemCode, problems } from './problem-registry.js';
import { MAX_ITEM_IDS } from './request-input.js';
import { itemIdSchema, problemDetails } from './schemas.js';

/** Problems that come with the form of a request rather than with an operation. */
const ALWAYS: readonly ProblemCode[] = [
  'unauthenticated',
  'wrong_role',
  'unknown_parameter',
  'internal_error',
  'overloaded',
  'database_unavailable',
];
const WITH_ITEM_ID: readonly ProblemCode[] = ['invalid_item_id'];
const WITH_BODY: readonly ProblemCode[] = [
  'malformed_json',
  'invalid_body',
  'unknown_field',
  'body_too_large',
  'unsupported_media_type',
];
const WITH_CHANGE: readonly ProblemCode[] = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'change_refused',
  'outcome_unknown',
];

type Json = Record<string, unknown>;

/** The document of the whole API, both parts of it. */
export function countsOpenApi(): Json {
  return openApiDocument(operationsFor(['external', 'internal']));
}

/** The OpenAPI 3.1 document of these operations, made from the schemas that check their requests. */
export function openApiDocument(operations: readonly Operation[]): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    paths[operation.path]![operation.method.toLowerCase()] = describeOperation(operation, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'QuotaDB counts',
      version: '1.0.0',
      description:
        'Named counts whose record is PostgreSQL. Integers are exact to 64 bits: up to 2^53 - 1 they are JSON numbers, ' +
        'past that the service answers with strings of digits and accepts either form.',
    },
    paths,
    components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  };
}

function describeOperation(operation: Operation, schemas: Json): Json {
  return {
    operationId: operation.id,
    tags: [operation.audience],
    summary: operation.summary,
    description: operation.description,
    security: [{ token: [] }, {}],
    parameters: parametersOf(operation, schemas),
    ...(operation.body && {
      requestBody: {
        required: !operation.body.optional,
        content: { 'application/json': { schema: reference(operation.body.schema, schemas) } },
      },
    }),
    responses: { [operation.success.status]: successOf(operation, schemas), ...problemsOf(operation, schemas) },
  };
}

function parametersOf(operation: Operation, schemas: Json): Json[] {
  const itemId = reference(itemIdSchema, schemas);
  const parameters: Json[] = [];
  if (operation.path.includes('{itemId}')) {
    parameters.push({ name: 'itemId', in: 'path', required: true, schema: itemId });
  }
  if (operation.readsMany) {
    const schema = { type: 'array', items: itemId, minItems: 1, maxItems: MAX_ITEM_IDS };
    const description = 'Repeated for each count. `itemIds[]` means the same.';
    parameters.push({
      name: 'itemIds',
      in: 'query',
      required: true,
      description,
      schema,
      style: 'form',
      explode: true,
    });
  }
  if (operation.changes) {
    const description =
      'A request repeated with its key happens once and gets the first answer; remembered for 24 hours unless configured otherwise.';
    const schema = { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' };
    parameters.push({ name: 'Idempotency-Key', in: 'header', required: false, description, schema });
  }
  return parameters;
}

function successOf({ success }: Operation, schemas: Json): Json {
  if (success.schema === undefined) return { description: success.description };
  const location = { schema: { type: 'string' }, description: 'The address of the new count.' };
  return {
    description: success.description,
    ...(success.status === 201 && { headers: { Location: location } }),
    content: { 'application/json': { schema: reference(success.schema, schemas) } },
  };
}

function problemsOf(operation: Operation, schemas: Json): Json {
  const codes = new Set<ProblemCode>([
    ...operation.problems,
    ...(operation.path.includes('{itemId}') ? WITH_ITEM_ID : []),
    ...(operation.body === undefined ? [] : WITH_BODY),
    ...(operation.changes ? WITH_CHANGE : []),
    ...ALWAYS,
  ]);
  const schema = reference(problemDetails, schemas);
  const responses: Json = {};
  for (const status of new Set([...codes].map((code) => problems[code].status))) {
    const ofStatus = [...codes].filter((code) => problems[code].status === status);
    const retries = ofStatus.some((code) => problems[code].retryAfterSeconds !== undefined);
    const challenges = ofStatus.includes('unauthenticated');
    responses[status] = {
      description: ofStatus.map((code) => `\`${code}\`: ${problems[code].detail}`).join('\n\n'),
      ...(retries && { headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds.' } } }),
      ...(challenges && { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } }),
      content: {
        'application/problem+json': {
          schema: { allOf: [schema, { properties: { code: { enum: ofStatus } } }] },
        },
      },
    };
  }
  return responses;
}

/** The schema itself, or where it has a name a reference to it among the components. */
function reference(schema: z.ZodType, schemas: Json): Json {
  const text = JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }));
  const { $schema: _, $defs, ...own } = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
  for (const [id, definition] of Object.entries(($defs ?? {}) as Record<string, Json>)) {
    schemas[id] ??= withoutIdentity(definition);
  }
  const name = schema.meta()?.id;
  if (name === undefined) return own;
  schemas[name] ??= withoutIdentity(own);
  return { $ref: `#/components/schemas/${name}` };
}

function withoutIdentity({ id: _, ...definition }: Json): Json {
  return definition;
}
