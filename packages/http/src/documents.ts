import { readFileSync } from 'node:fs';
import type { Api, ServedApi } from './api.js';
import { openApiDocument } from './openapi.js';
import { type Operation, operationsOf } from './operation.js';

const OPENAPI_PATH = '/api/v1/openapi.json';
const PAGE_PATH = '/api/v1/docs';

/** The page loads nothing from anywhere but this server. */
const PAGE_POLICY =
  "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const operation = operationsOf<undefined>();

/**
 * The OpenAPI document of all APIs and a page to browse it and try it with, and where an API asks for them, the same of
 * that API alone. The page loads the document that lies beside it.
 */
export function documentsOf(apis: readonly Api[]): ServedApi {
  const operations = [
    documentAt(OPENAPI_PATH, apis),
    pageAt(PAGE_PATH),
    ...apis.flatMap((api) => [
      ...(api.documentPath === undefined ? [] : [documentAt(api.documentPath, [api])]),
      ...(api.pagePath === undefined ? [] : [pageAt(api.pagePath)]),
    ]),
  ];
  return { api: { name: 'documents', title: 'Documents', description: '', operations }, context: undefined };
}

function documentAt(path: string, apis: readonly Api[]): Operation<undefined> {
  return fileAt(path, 'application/json', () => JSON.stringify(openApiDocument(apis)));
}

function pageAt(path: string): Operation<undefined> {
  const asset = new URL('../assets/docs.html', import.meta.url);
  return fileAt(path, 'text/html; charset=utf-8', () => readFileSync(asset, 'utf8'));
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
