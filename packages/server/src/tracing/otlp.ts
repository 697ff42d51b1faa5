import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { RecordedSpan } from './recorded-span.js';

/**
 * Spans in the JSON of OTLP: ExportTraceServiceRequest of opentelemetry-proto. Ids are hexadecimal, and 64-bit integers
 * are texts.
 */
export function encodeSpans(spans: readonly RecordedSpan[], resource: Attributes): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'quotadb' }, spans: spans.map(encodeSpan) }],
      },
    ],
  };
}

function encodeSpan(span: RecordedSpan): object {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceId,
    spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    flags: traceFlags,
    name: span.name,
    // In OTLP 0 means unspecified, and every kind is one higher.
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: encodeAttributes(span.attributes),
    events: span.events.map(({ name, atMs, attributes }) => ({
      name,
      timeUnixNano: nanoseconds(atMs),
      attributes: encodeAttributes(attributes),
    })),
    links: span.links.map(({ context, attributes }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: encodeAttributes(attributes ?? {}),
    })),
    status: { code: span.status.code, ...(span.status.message !== undefined && { message: span.status.message }) },
  };
}

function encodeAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: encodeValue(value) }],
  );
}

function encodeValue(value: AttributeValue): object {
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== null && item !== undefined);
    return { arrayValue: { values: items.map((item) => encodeValue(item as AttributeValue)) } };
  }
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number') return { stringValue: String(value) };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
}
