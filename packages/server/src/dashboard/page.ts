import { PAGE_HEADERS, readPageFile } from '@quotadb/dashboard';
import { type Exchange, type Operation, operationsOf, ProblemError, problems } from '@quotadb/http';

const operation = operationsOf<unknown>();

/** The files of the page. They are open to all: there is nothing secret in them. */
export const pageOperations: readonly Operation<unknown, unknown>[] = [
  operation({
    id: 'redirectToPage',
    method: 'GET',
    path: '/dashboard',
    summary: 'Redirects to the page',
    success: { status: 301, description: 'To `/dashboard/`.' },
    // With the slash, the addresses in the page name the files beside it.
    respond: (_context, _input, _caller, { response }) =>
      void response.writeHead(301, { location: '/dashboard/' }).end(),
  }),
  operation({
    id: 'readPage',
    method: 'GET',
    path: '/dashboard/{+file}',
    summary: 'The page, and the files that belong to it',
    success: { description: 'The file.', mediaType: 'text/html' },
    problems: [problems.route_not_found],
    respond: (_context, { path: { file } }, _caller, exchange) => sendFile(exchange, file),
  }),
];

function sendFile({ response }: Exchange, name: string): void {
  const file = readPageFile(name === '' ? 'index.html' : name);
  if (file === undefined) {
    const detail = `The dashboard has no file ${name}; was it built (npm run build)?`;
    throw new ProblemError(problems.route_not_found, { detail });
  }
  const caching = name === '' ? 'no-cache' : 'public, max-age=31536000, immutable';
  response.writeHead(200, { ...PAGE_HEADERS, 'content-type': file.type, 'cache-control': caching }).end(file.bytes);
}
