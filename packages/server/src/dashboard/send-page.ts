import type { ServerResponse } from 'node:http';
import { PAGE_HEADERS, readPageFile } from '@quotadb/dashboard';
import { send } from '../http/health.js';

/** A file of the page, by what follows `/dashboard/`; undefined stands for `/dashboard` itself. */
export function sendPage(response: ServerResponse, name: string | undefined): void {
  if (name === undefined) {
    // So that what belongs to the page is found beside it.
    response.writeHead(301, { location: '/dashboard/' }).end();
    return;
  }
  const file = readPageFile(name === '' ? 'index.html' : name);
  if (file === undefined) {
    send(response, 404, { code: 'no_such_path', error: 'no such file; was the dashboard built (npm run build)?' });
    return;
  }
  const caching = name === '' ? 'no-cache' : 'public, max-age=31536000, immutable';
  response.writeHead(200, { ...PAGE_HEADERS, 'content-type': file.type, 'cache-control': caching }).end(file.bytes);
}
