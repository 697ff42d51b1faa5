import { type Api, type Operation, openApiDocument, type Problem, problems, problemsOf } from '@quotadb/http';

/** As much of an OpenAPI document as the reference shows. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Described {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** The guide to an API, by its name. */
const GUIDES: Readonly<Record<string, string>> = {
  windows: 'algorithms/README.md',
  limits: 'limits.md',
  quotas: 'quotas.md',
  counts: 'counts.md',
  keys: 'replication.md',
  status: 'operating.md',
  dashboard: 'operating.md',
};

/** docs/http.md, from the table of operations that the server answers from. */
export function httpDocument(apis: readonly Api[]): string {
  return [
    '# HTTP',
    '',
    'Made from the table of operations of the server; `npm run generate` makes it anew. Everything is on one port',
    '(`--http`, 8380). `/docs` is a page to browse the API and try it, `/openapi.json` its OpenAPI 3.1 document; a',
    'browser that opens `/` is sent to the dashboard. A `?` marks what may be left out. `HEAD` works where `GET` does.',
    '',
    'Bodies are JSON, as `application/json` or without a media type; what `curl -d` sends as a form is taken as JSON',
    'too, but not from a page. A field that ends in `Ms` is a number of milliseconds; in requests it may be a text with',
    'a unit, `"windowMs": "60s"`, in queries `windowMs=60s`. A `cost` that is left out is 1.',
    '',
    'Every refusal, from 400 to 504, is `application/problem+json` (RFC 9457) with a stable `code`:',
    '',
    '```json',
    '{"type":"urn:quotadb:problem:unknown_field","title":"Unknown field","status":400,"code":"unknown_field",',
    ' "detail":"The request body has a field that this operation does not know. ' +
      '\\"csot\\" is not known; did you mean …",',
    ' "errors":[{"pointer":"/","detail":"\\"csot\\" is not known; did you mean \\"cost\\"?"}]}',
    '```',
    '',
    'With users, send `Authorization: Bearer <token>` or `Basic <name:password>` ([security.md](security.md)). An',
    'operation takes any of its roles: `read`, `write`, `quota` and `admin` are roles of users; a `--counts-token` has',
    'the role `counts token`; `count` is `write` or a `--counts-token`; `manage counts` is `admin` or a',
    '`--counts-internal-token`.',
    '',
    ...apis.map(({ title }) => `- [${title}](#${anchor(title)})`),
    '- [Problems of any request](#problems-of-any-request)',
    ...apis.flatMap(apiLines),
    '',
    '## Problems of any request',
    '',
    ...problemTable(Object.values(problems)),
    '',
  ].join('\n');
}

function apiLines(api: Api): string[] {
  const document = openApiDocument([api]) as unknown as Document;
  const own = api.operations
    .flatMap((operation) => problemsOf(api, operation))
    .filter(({ code }) => !(code in problems));
  const guide = GUIDES[api.name];
  const alone = api.documentPath === undefined ? '' : ` Its document alone: \`${api.documentPath}\`.`;
  return [
    '',
    `## ${api.title}`,
    '',
    `${api.description} The guide: [${guide}](${guide}).${alone}`,
    '',
    '| request | what it does | body | roles | status |',
    '|---|---|---|---|---|',
    ...api.operations.map((operation) => row(operation, document)),
    ...(own.length === 0 ? [] : ['', ...problemTable(own)]),
  ];
}

function problemTable(kinds: readonly Problem[]): string[] {
  const byCode = [...new Map(kinds.map((kind) => [kind.code, kind])).values()];
  return [
    '| code of a problem | status | what it means |',
    '|---|---|---|',
    ...byCode
      .toSorted((one, other) => one.status - other.status || (one.code < other.code ? -1 : 1))
      .map(({ code, status, detail }) => `| \`${code}\` | ${status} | ${detail.replaceAll('|', '\\|')} |`),
  ];
}

function row({ method, path, summary, roles }: Operation, document: Document): string {
  const shownPath = path.replace('{+', '{');
  const described = document.paths[shownPath][method.toLowerCase()];
  const query = fields(described.parameters.filter((parameter) => parameter.in === 'query'));
  const request = `\`${method} ${shownPath}\`${query === '' ? '' : `, query: ${query}`}`;
  const role = (roles ?? []).map((name) => `\`${name}\``).join(', ');
  const statuses = Object.keys(described.responses).join(', ');
  return `| ${request} | ${summary.replace(/\.$/, '')} | ${bodyOf(described, document)} | ${role} | ${statuses} |`;
}

function bodyOf({ requestBody }: Described, { components }: Document): string {
  const given = requestBody?.content['application/json']?.schema;
  if (given === undefined) return '';
  const schema = given.$ref === undefined ? given : components.schemas[given.$ref.split('/').at(-1) ?? ''];
  const names = Object.keys(schema?.properties ?? {});
  return fields(names.map((name) => ({ name, required: schema?.required?.includes(name) === true })));
}

function fields(all: readonly { readonly name: string; readonly required?: boolean }[]): string {
  return all.map(({ name, required }) => `\`${name}\`${required === true ? '' : '?'}`).join(', ');
}

function anchor(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}
