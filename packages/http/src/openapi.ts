import { z } from 'zod';
import type { Api } from './api.js';
import type { Operation } from './operation.js';
import type { Problem } from './problem.js';
import { problems } from './problems.js';

type Json = Record<string, unknown>;

const problemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.string().describe('Stable; programs may rely on it.'),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });

/** The OpenAPI 3.1 document of these APIs, made from what routes, guards and checks their requests. */
export function openApiDocument(apis: readonly Api[]): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const api of apis) {
    for (const operation of api.operations) {
      const path = operation.path.replace('{+', '{');
      paths[path] ??= {};
      paths[path][operation.method.toLowerCase()] = describeOperation(api, operation, schemas);
    }
  }
  const [only] = apis.length === 1 ? apis : [];
  return {
    openapi: '3.1.0',
    info: {
      title: only?.title ?? 'QuotaDB',
      version: '1.0.0',
      description: only?.description ?? 'Counting and limiting: all that this server answers.',
    },
    tags: apis.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' }, password: { type: 'http', scheme: 'basic' } },
    },
  };
}

function describeOperation(api: Api, operation: Operation, schemas: Json): Json {
  const { id, summary, description = '', roles, body, success } = operation;
  const roleLine =
    roles === undefined ? '' : `Needs one of the roles ${roles.map((role) => `\`${role}\``).join(', ')}.`;
  return {
    operationId: id,
    tags: [api.name],
    summary,
    description: [description, roleLine].filter((text) => text !== '').join(' '),
    security: roles === undefined ? [] : [{ token: [] }, ...(api.isForTokensOnly ? [] : [{ password: [] }]), {}],
    parameters: parametersOf(operation, schemas),
    ...(body && {
      requestBody: {
        required: body.isOptional !== true,
        content: { 'application/json': { schema: reference(body.schema, schemas) } },
      },
    }),
    responses: { [success.status ?? 200]: successOf(operation, schemas), ...problemResponses(api, operation, schemas) },
  };
}

function parametersOf({ path, parameters, query, headers }: Operation, schemas: Json): Json[] {
  const texts = z.object(Object.fromEntries(namesIn(path).map((name) => [name, z.string()])));
  return [
    ...parametersIn('path', parameters ?? texts, schemas),
    ...parametersIn('query', query, schemas),
    ...parametersIn('header', headers, schemas),
  ];
}

function namesIn(path: string): string[] {
  return [...path.matchAll(/\{\+?(\w+)\}/g)].map(([, name = '']) => name);
}

function parametersIn(place: 'path' | 'query' | 'header', fields: z.ZodObject | undefined, schemas: Json): Json[] {
  if (fields === undefined) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(z.object(fields.shape), schemas) as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties as Record<string, Json>).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function successOf({ success }: Operation, schemas: Json): Json {
  const { description, schema, mediaType = 'application/json', location } = success;
  const header = { schema: { type: 'string' }, description: 'The address of the new resource.' };
  const content = schema === undefined ? {} : { schema: reference(schema, schemas) };
  return {
    description,
    ...(location !== undefined && { headers: { Location: header } }),
    ...((schema ?? success.mediaType) !== undefined && { content: { [mediaType]: content } }),
  };
}

/** The problems that an operation declares, and those that follow from its form. */
export function problemsOf({ fieldProblems = {} }: Api, operation: Operation): readonly Problem[] {
  const { query, headers, body, roles } = operation;
  const bodyShape = body?.schema instanceof z.ZodObject ? body.schema.shape : {};
  const fields = { ...query?.shape, ...headers?.shape, ...bodyShape };
  return [
    ...(operation.problems ?? []),
    ...[...namesIn(operation.path), ...Object.keys(fields)].flatMap((name) => {
      const problem = Object.hasOwn(fieldProblems, name) ? fieldProblems[name] : undefined;
      return typeof problem === 'object' ? [problem] : [];
    }),
    ...(body === undefined
      ? []
      : [
          problems.malformed_json,
          problems.invalid_body,
          problems.unknown_field,
          problems.body_too_large,
          problems.unsupported_media_type,
        ]),
    ...(query === undefined ? [] : [problems.unknown_parameter]),
    ...(roles === undefined ? [] : [problems.unauthenticated, problems.wrong_role, problems.too_many_logins]),
    problems.forbidden,
    problems.unknown_host,
    problems.internal_error,
  ];
}

function problemResponses(api: Api, operation: Operation, schemas: Json): Json {
  const kinds = [...new Map(problemsOf(api, operation).map((kind) => [kind.code, kind])).values()];
  const schema = reference(problemDetails, schemas);
  const responses: Json = {};
  for (const status of new Set(kinds.map((kind) => kind.status))) {
    const ofStatus = kinds.filter((kind) => kind.status === status);
    const retries = ofStatus.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
    responses[status] = {
      description: ofStatus.map(({ code, detail }) => `\`${code}\`: ${detail}`).join('\n\n'),
      ...(retries && { headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds.' } } }),
      ...(status === 401 && { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } }),
      content: {
        'application/problem+json': {
          schema: { allOf: [schema, { properties: { code: { enum: ofStatus.map(({ code }) => code) } } }] },
        },
      },
    };
  }
  return responses;
}

/** The schema, or where it has a name a reference to it among the components. */
function reference(schema: z.ZodType, schemas: Json): Json {
  const own = jsonSchemaOf(schema, schemas);
  const name = schema.meta()?.id;
  if (name === undefined) return own;
  schemas[name] ??= withoutIdentity(own);
  return { $ref: `#/components/schemas/${name}` };
}

/** As JSON Schema, with its named parts put among the components. */
function jsonSchemaOf(schema: z.ZodType, schemas: Json): Json {
  const text = JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }));
  const { $schema: _, $defs, ...own } = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
  for (const [id, definition] of Object.entries(($defs ?? {}) as Record<string, Json>)) {
    schemas[id] ??= withoutIdentity(definition);
  }
  return own;
}

function withoutIdentity({ id: _, ...definition }: Json): Json {
  return definition;
}
