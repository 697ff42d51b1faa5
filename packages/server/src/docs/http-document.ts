/** As much of an OpenAPI document as the reference shows. */
export interface Api {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** What an API is found under, and its guide. */
export interface ApiPlace {
  readonly api: Api;
  readonly document: string;
  readonly guide: string;
}

/** Addresses that belong to no API. */
const OTHERS: readonly (readonly [request: string, role: string, answer: string])[] = [
  ['GET /', '', '200: name, version, region, port'],
  ['GET /healthz', '', '200 while the process lives'],
  [
    'GET /readyz',
    '',
    '200 once clients are served; 503 before, while stopping, and while a failing disk refuses writes',
  ],
  ['GET /metrics', 'read', '200: for Prometheus, [metrics.md](metrics.md)'],
  ['GET /dashboard/', 'a login, where there are credentials', 'the page'],
  [
    'GET /api/v1/keys/{key}?maxAgeMs=…',
    'read',
    '200: the value, as text, and the age of the data of each region; 404 without the key; 412 `stale` where a region is older than asked for',
  ],
];

/** docs/http.md, from the OpenAPI documents that the server itself hands out. */
export function httpDocument(places: readonly ApiPlace[]): string {
  return [
    '# HTTP',
    '',
    'Made from the OpenAPI documents of the server; `npm run generate` makes it anew. Everything is on one port (`--http`, 8380).',
    'Bodies are JSON. A `?` marks what may be left out. Problems are `application/problem+json` with a stable `code`; with users, send',
    '`Authorization: Bearer <token>` or `Basic <name:password>` ([security.md](security.md)).',
    '',
    ...places.map(({ api }) => `- [${api.info.title}](#${anchor(api.info.title)})`),
    '- [Everything else](#everything-else)',
    ...places.flatMap(apiLines),
    '',
    '## Everything else',
    '',
    '| request | role | answer |',
    '|---|---|---|',
    ...OTHERS.map(([request, role, answer]) => `| \`${request}\` | ${role} | ${answer} |`),
    '',
  ].join('\n');
}

function apiLines({ api, document, guide }: ApiPlace): string[] {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ request: `${method.toUpperCase()} ${path}`, operation })),
  );
  return [
    '',
    `## ${api.info.title}`,
    '',
    `${api.info.description} The guide: [${guide}](${guide}); the document: \`${document}\`.`,
    '',
    '| request | what it does | body | status |',
    '|---|---|---|---|',
    ...operations.map(({ request, operation }) => row(request, operation, api)),
    '',
    '| code of a problem | status | what it means |',
    '|---|---|---|',
    ...problemRows(operations.map(({ operation }) => operation)),
  ];
}

/** Every code once, by status. The documents write a line for each: its name in backticks, a colon, what it means. */
function problemRows(operations: readonly Operation[]): string[] {
  const found = new Map<string, { readonly status: string; readonly meaning: string }>();
  for (const { responses } of operations) {
    for (const [status, { description }] of Object.entries(responses)) {
      for (const [, code = '', meaning = ''] of description.matchAll(/^`(\w+)`: (.*)$/gm)) {
        found.set(code, { status, meaning });
      }
    }
  }
  return [...found]
    .toSorted(([one, { status }], [other, { status: otherStatus }]) =>
      status === otherStatus ? (one < other ? -1 : 1) : Number(status) - Number(otherStatus),
    )
    .map(([code, { status, meaning }]) => `| \`${code}\` | ${status} | ${meaning.replaceAll('|', '\\|')} |`);
}

function row(request: string, operation: Operation, api: Api): string {
  const query = fields((operation.parameters ?? []).filter((parameter) => parameter.in === 'query'));
  const shown = query === '' ? `\`${request}\`` : `\`${request}\`, query: ${query}`;
  const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
  return `| ${shown} | ${operation.summary.replace(/\.$/, '')} | ${bodyOf(operation, api)} | ${statuses.join(', ')} |`;
}

function bodyOf({ requestBody }: Operation, api: Api): string {
  const given = requestBody?.content['application/json']?.schema;
  if (given === undefined) return '';
  const schema = given.$ref === undefined ? given : api.components?.schemas?.[given.$ref.split('/').at(-1) ?? ''];
  const names = Object.keys(schema?.properties ?? {});
  return fields(names.map((name) => ({ name, required: schema?.required?.includes(name) === true })));
}

function fields(all: readonly { readonly name: string; readonly required?: boolean }[]): string {
  return all.map(({ name, required }) => `\`${name}\`${required === true ? '' : '?'}`).join(', ');
}

function anchor(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}
