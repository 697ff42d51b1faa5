import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Api, ServedApi } from './api.js';
import { openApiDocument } from './openapi.js';
import { type Operation, operationsOf } from './operation.js';

const OPENAPI_PATHS = ['/openapi.json', '/api/v1/openapi.json'];
const PAGE_PATH = '/docs';
/** Where the page was before. */
const FORMER_PAGE_PATH = '/api/v1/docs';

/** The page loads nothing from anywhere but this server. */
const PAGE_POLICY =
  "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const operation = operationsOf<undefined>();

/**
 * The OpenAPI document of all APIs and the one page to browse it and try it with; where an API asks for it, the
 * document of that API alone too. The page loads the document that lies beside it.
 */
export function documentsOf(apis: readonly Api[]): ServedApi {
  const operations = [
    ...OPENAPI_PATHS.map((path) => documentAt(path, apis)),
    pageAt(PAGE_PATH),
    redirectAt(FORMER_PAGE_PATH),
    ...apis.flatMap((api) => [
      ...(api.documentPath === undefined ? [] : [documentAt(api.documentPath, [api])]),
      ...(api.formerPagePath === undefined ? [] : [redirectAt(api.formerPagePath)]),
    ]),
  ];
  return { api: { name: 'documents', title: 'Documents', description: '', operations }, context: undefined };
}

function documentAt(path: string, apis: readonly Api[]): Operation<undefined> {
  return fileAt(path, 'application/json', () => JSON.stringify(openApiDocument(apis)));
}

function pageAt(path: string): Operation<undefined> {
  const asset = `${dirname(createRequire(import.meta.url).resolve('@quotadb/http/package.json'))}/assets/docs.html`;
  return fileAt(path, 'text/html; charset=utf-8', () => readFileSync(asset, 'utf8'));
}

function redirectAt(path: string): Operation<undefined> {
  return operation({
    id: path,
    method: 'GET',
    path,
    summary: 'Redirects to the page',
    success: { status: 301, description: `To \`${PAGE_PATH}\`.` },
    respond: (_context, _input, _caller, { response }) => void response.writeHead(301, { location: PAGE_PATH }).end(),
  });
}

/** A file that is made when it is first asked for. */
function fileAt(path: string, mediaType: string, make: () => string): Operation<undefined> {
  let content: string | undefined;
  return operation({
    id: path,
    method: 'GET',
    path,
    summary: 'About the API',
    success: { description: 'The file.', mediaType },
    respond: (_context, _input, _caller, { response }) => {
      content ??= make();
      const headers = { 'Content-Type': mediaType, 'Content-Length': Buffer.byteLength(content) };
      response.writeHead(200, { ...headers, 'Content-Security-Policy': PAGE_POLICY }).end(content);
    },
  });
}
