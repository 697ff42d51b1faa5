import { defineProblems } from './problem.js';

/** The problems that any request can have, whatever operation it is for. */
export const problems = defineProblems({
  malformed_request: [400, 'Malformed request', 'The request is not valid HTTP/1.1, or has no Host header.'],
  malformed_json: [400, 'Malformed JSON', 'The request body is not a JSON document in UTF-8.'],
  invalid_body: [400, 'Invalid request body', 'The request body does not have the form this operation takes.'],
  unknown_field: [400, 'Unknown field', 'The request body has a field that this operation does not know.'],
  unknown_parameter: [400, 'Unknown query parameter', 'The query has a parameter that this operation does not know.'],
  invalid_parameter: [400, 'Invalid parameter', 'A value in the path, the query or the headers is not valid.'],
  unauthenticated: [
    401,
    'Not authenticated',
    'Send credentials that this server knows: "Authorization: Bearer <token>" or "Basic <name:password>".',
  ],
  wrong_role: [403, 'Not allowed', 'These credentials do not have the role that this operation needs.'],
  forbidden: [403, 'Forbidden', 'This server does not answer to pages of other sites (--http-name).'],
  route_not_found: [404, 'No such resource', 'There is nothing at this address.'],
  method_not_allowed: [405, 'Method not allowed', 'The Allow header names the methods of this resource.'],
  request_timeout: [408, 'Request timeout', 'The request did not arrive in time.'],
  body_too_large: [413, 'Body too large', 'The request body is larger than this operation takes.'],
  unsupported_media_type: [
    415,
    'Unsupported media type',
    'The request body must be application/json, without a content encoding.',
  ],
  expectation_failed: [417, 'Expectation failed', 'This server meets no expectation but "Expect: 100-continue".'],
  unknown_host: [
    421,
    'Unknown host',
    'Without credentials this server answers to names of its own machine only: the Host ' +
      'header has another (--http-name).',
  ],
  too_many_logins: [
    429,
    'Too many logins',
    'The password was not checked: too many logins from this address have failed and wait.',
    5,
  ],
  headers_too_large: [431, 'Headers too large', 'The address and the headers together are larger than 64 KiB.'],
  internal_error: [500, 'Internal error', 'A fault of the server kept it from answering; its log says which.'],
});
