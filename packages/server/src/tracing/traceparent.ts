import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

/**
 * The header in which a caller names the trace of its request (W3C Trace Context):
 *
 *   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *   version, trace, span of the caller, flags: the lowest bit is set for a recorded trace
 *
 * An unknown version may have more fields behind the flags; version ff is invalid.
 */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for a missing or malformed header: the trace begins here then. */
export function readTraceparent(header: string | undefined): SpanContext | undefined {
  const match = TRACEPARENT.exec(header ?? '');
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}
