import { context, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { CountsObserver, WriteReport } from '@quotadb/counts';
import { isRecorded } from './provider.js';
import { startSpan } from './tracing.js';

/**
 * A span for every group of changes that holds a recorded request. It belongs to the trace of the first such request
 * and links to the others: one statement serves many requests.
 */
export function traceCounts(): CountsObserver {
  return {
    caller: () => {
      const caller = trace.getSpanContext(context.active());
      return caller !== undefined && isRecorded(caller) ? caller : undefined;
    },
    wrote: (report) => {
      if (report.callers.length > 0) record(report);
    },
  };
}

function record({ callers, keyed, items, changes, startedAtMs, milliseconds, failure }: WriteReport): void {
  const [first, ...others] = callers as readonly SpanContext[];
  const startTime = performance.timeOrigin + startedAtMs;
  const span = startSpan(
    'counts batch',
    {
      kind: SpanKind.CLIENT,
      startTime,
      links: others.map((caller) => ({ context: caller })),
      attributes: {
        'db.system.name': 'postgresql',
        'db.operation.batch.size': changes,
        'quotadb.counts': items,
        'quotadb.idempotent': keyed,
      },
    },
    trace.setSpanContext(context.active(), first),
  );
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end(startTime + milliseconds);
}
