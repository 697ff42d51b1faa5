/**
 * HTTP, declared once: an operation names its method, path, roles, schemas and problems, and has a function that runs
 * it. From the table of operations come one router, one guard, one body reader, one format of problems (RFC 9457), one
 * OpenAPI 3.1 document and one page to browse it. Bodies are JSON in which 64-bit integers stay exact.
 *
 * @example
 * const operation = operationsOf<Store, User>();
 * const api: Api<Store, User> = {
 *   name: 'things', title: 'Things', description: 'Things by name.',
 *   operations: [operation({
 *     id: 'readThing', method: 'GET', path: '/things/{name}', summary: 'Read a thing', roles: ['read'],
 *     success: { description: 'The thing.', schema: thing },
 *     run: (store, { path }) => store.read(path.name),
 *   })],
 * };
 * const handle = createHandler([serveApi(api, store)], { authenticate, onError });
 * await new HttpServer({ handle, maximumConnections: 1000 }).listen('127.0.0.1', 8380);
 */
export type { Answer } from './answer.js';
export { type Api, type ServedApi, serveApi } from './api.js';
export { type Carry, createCarriedHandler, ElsewhereError } from './carried.js';
export { documentsOf } from './documents.js';
export { milliseconds } from './duration.js';
export { jsonInteger } from './exact-json.js';
export type { Authenticate, Credentials } from './guard.js';
export { createHandler } from './handler.js';
export { HttpServer } from './http-server.js';
export { integer } from './integer.js';
export { openApiDocument, problemsOf } from './openapi.js';
export { type Exchange, type Operation, operationsOf } from './operation.js';
export { defineProblems, type Problem, ProblemError } from './problem.js';
export { problems } from './problems.js';
export { rawProblemResponse, rawResponse } from './raw-response.js';
export type { CheckedInput } from './request-input.js';
export { Sites } from './sites.js';
export { usualSocketTimeouts } from './socket-timeouts.js';
