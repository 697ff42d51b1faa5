import { defineProblems } from './problem.js';

/** The problems that any request can have, whatever operation it is for. */
export const problems = defineProblems({
  malformed_request: {
    status: 400,
    title: 'Malformed request',
    detail: 'The request is not valid HTTP/1.1: check its request line, its headers and its Host header.',
  },
  malformed_json: {
    status: 400,
    title: 'Malformed JSON',
    detail: 'The request body is not a JSON document in UTF-8.',
  },
  invalid_body: {
    status: 400,
    title: 'Invalid request body',
    detail: 'The request body does not have the form this operation takes; `errors` names the fields.',
  },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    detail: 'The request body has a field that this operation does not know.',
  },
  unknown_parameter: {
    status: 400,
    title: 'Unknown query parameter',
    detail: 'The query has a parameter that this operation does not know.',
  },
  invalid_parameter: {
    status: 400,
    title: 'Invalid parameter',
    detail: 'A parameter of the path, the query or the headers is not valid; `errors` names it.',
  },
  unauthenticated: {
    status: 401,
    title: 'Not authenticated',
    detail: 'Send credentials that this server knows: "Authorization: Bearer <token>" or "Basic <name:password>".',
  },
  wrong_role: {
    status: 403,
    title: 'Not allowed',
    detail: 'These credentials do not have the role that this operation needs.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    detail: 'This operation is not served to pages of other sites.',
  },
  route_not_found: {
    status: 404,
    title: 'No such resource',
    detail: 'There is nothing at this address.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'The Allow header names the methods of this resource.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    detail: 'The request did not arrive in time.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'The request body is larger than this operation takes.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The request body must be application/json, without a content encoding.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectation failed',
    detail: 'The only expectation that this server meets is "Expect: 100-continue".',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    detail: 'The address and the headers of the request are larger together than this server takes: 64 KiB.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'The server failed to answer this request because of a fault of its own. The log of the server has it.',
  },
});
