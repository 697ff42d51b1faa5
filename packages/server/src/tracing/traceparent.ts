import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

/**
 * The header by which a caller tells which trace its request belongs to (W3C Trace Context):
 *
 *   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *   version, trace, span of the caller, flags: the lowest bit says that it is recorded
 *
 * A version that we do not know may have more behind the flags; the version ff there is not.
 */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined where there is none, or it says nothing that can be understood: the trace begins here then. */
export function readTraceparent(header: string | undefined): SpanContext | undefined {
  const match = TRACEPARENT.exec(header ?? '');
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}
