import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openApiDocument } from './openapi.js';
import type { Operation } from './operation.js';
import { ProblemError } from './problem.js';

const OPENAPI_PATH = '/api/v1/counts/openapi.json';
const DOCS_PATH = '/api/v1/counts/docs';

interface Page {
  readonly mediaType: string;
  readonly content: string;
}

/** The page loads nothing from anywhere but this server. */
const PAGE_POLICY =
  "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/** The OpenAPI document and a page to browse it and try it with. */
export class DocumentPages {
  readonly #operations: readonly Operation[];
  /** Made when somebody first looks. */
  readonly #pages = new Map<string, Page>();

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  serve(request: IncomingMessage, response: ServerResponse, path: string): boolean {
    if (path !== OPENAPI_PATH && path !== DOCS_PATH) return false;
    if (request.method !== 'GET') throw new ProblemError('method_not_allowed', { headers: { Allow: 'GET' } });
    const page = this.#pages.get(path) ?? this.#make(path);
    response
      .writeHead(200, {
        'Content-Type': page.mediaType,
        'Content-Length': Buffer.byteLength(page.content),
        'Content-Security-Policy': PAGE_POLICY,
      })
      .end(page.content);
    return true;
  }

  #make(path: string): Page {
    const page =
      path === OPENAPI_PATH
        ? { mediaType: 'application/json', content: JSON.stringify(openApiDocument(this.#operations)) }
        : {
            mediaType: 'text/html; charset=utf-8',
            content: readFileSync(new URL('../../../assets/docs.html', import.meta.url), 'utf8'),
          };
    this.#pages.set(path, page);
    return page;
  }
}
