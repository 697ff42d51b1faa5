import type { IncomingMessage, ServerResponse } from 'node:http';
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { readTraceparent } from './traceparent.js';
import { startSpan } from './tracing.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Paths that are polled or stay open: their spans would be noise. */
const UNTRACED = /^\/(?:$|healthz|readyz|metrics|dashboard|api\/v1\/dashboard\/)/;
/** A span's name holds the route and no key: the part behind these words is one. */
const NAMED = /^(\/api\/v1\/(?:internal\/)?)(counts|keys|windows|limits|quotas)\/([^/]+)(\/[a-z-]+)?/;

/** Makes a span for every request, in the trace that its `traceparent` header names. */
export function traceRequests(handle: Handler): Handler {
  return (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0];
    if (UNTRACED.test(path)) {
      handle(request, response);
      return;
    }
    const method = request.method ?? '';
    const route = routeOf(path);
    const caller = readTraceparent(singleHeader(request.headers.traceparent));
    const parent = caller === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller);
    const attributes = { 'http.request.method': method, 'http.route': route };
    const span = startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    response.once('close', () => {
      span.setAttribute('http.response.status_code', response.statusCode);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      else if (!response.writableFinished)
        span.setStatus({ code: SpanStatusCode.ERROR, message: 'the client closed the connection' });
      span.end();
    });
    context.with(trace.setSpan(parent, span), () => handle(request, response));
  };
}

function singleHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? undefined : header;
}

function routeOf(path: string): string {
  const match = NAMED.exec(path);
  if (match !== null) return `${match[1]}${match[2]}/{name}${match[4] ?? ''}`;
  return /^\/api\/v1\/(?:internal\/)?[a-z]+$/.test(path) ? path : '/other';
}
