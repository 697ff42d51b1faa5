import { z } from 'zod';
import { quotaOperations } from './operations.js';
import { problems } from './problems.js';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the quotas API, made from what routes and checks its requests. */
export function quotasDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const { id, method, path, summary, body, refusal } of quotaOperations) {
    const variable = /\{(\w+)\}/.exec(path)?.[1];
    const { status, title } = problems[refusal];
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = {
      operationId: id,
      summary,
      security: [{ password: [] }, {}],
      parameters: [
        ...(variable === undefined ? [] : [parameter(variable, 'path', true)]),
        ...(id === 'readQuota' ? [parameter('subject', 'query', false)] : []),
      ],
      ...(body && {
        requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } },
      }),
      responses: {
        200: { description: 'Done, or denied: `allowed` says which.', content: { 'application/json': {} } },
        [status]: { description: `\`${refusal}\`: ${title}`, content: { 'application/problem+json': {} } },
        default: { description: 'Any other problem.', content: { 'application/problem+json': {} } },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'QuotaDB quotas', version: '1.0.0', description: 'Limits that are exact across regions.' },
    paths,
    components: { securitySchemes: { password: { type: 'http', scheme: 'bearer' } } },
  };
}

function parameter(name: string, place: 'path' | 'query', required: boolean): Json {
  return { name, in: place, required, schema: { type: 'string' } };
}

function schemaOf(body: z.ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(body, { io: 'input' }) as Json;
  return schema;
}
