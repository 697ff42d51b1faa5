import { readFileSync } from 'node:fs';
import type { Api, ServedApi } from './api.js';
import { openApiDocument } from './openapi.js';
import { type Exchange, type Operation, operationsOf } from './operation.js';

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
    documentOperation('readOpenApi', OPENAPI_PATH, apis),
    pageOperation('readDocs', PAGE_PATH),
    ...apis.flatMap((api) => [
      ...(api.documentPath === undefined ? [] : [documentOperation(`${api.name}OpenApi`, api.documentPath, [api])]),
      ...(api.pagePath === undefined ? [] : [pageOperation(`${api.name}Docs`, api.pagePath)]),
    ]),
  ];
  return { api: { name: 'documents', title: 'Documents', description: '', operations }, context: undefined };
}

function documentOperation(id: string, path: string, apis: readonly Api[]): Operation<undefined> {
  let made: string | undefined;
  return operation({
    id,
    method: 'GET',
    path,
    summary: 'The OpenAPI 3.1 document',
    success: { description: 'The document.' },
    respond: (_context, _input, _caller, exchange) => {
      made ??= JSON.stringify(openApiDocument(apis));
      send(exchange, 'application/json', made);
    },
  });
}

function pageOperation(id: string, path: string): Operation<undefined> {
  return operation({
    id,
    method: 'GET',
    path,
    summary: 'The page to browse the API and try it',
    success: { description: 'The page.' },
    respond: (_context, _input, _caller, exchange) =>
      send(exchange, 'text/html; charset=utf-8', readFileSync(new URL('../assets/docs.html', import.meta.url), 'utf8')),
  });
}

function send({ response }: Exchange, mediaType: string, content: string): void {
  response
    .writeHead(200, {
      'Content-Type': mediaType,
      'Content-Length': Buffer.byteLength(content),
      'Content-Security-Policy': PAGE_POLICY,
    })
    .end(content);
}
