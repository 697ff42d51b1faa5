import { context, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { WriteReport } from '@quotadb/counts';
import { isRecorded } from '../tracing/provider.js';
import { startSpan } from '../tracing/tracing.js';
import type { CountsWatch } from './counts-watch.js';

/**
 * A span for every batch of changes that a recorded request is in. It stands in the trace of the first of them and has links
 * to the others: a statement serves many.
 */
export function traceCounts(watch: CountsWatch): void {
  watch.currentCaller = () => {
    const caller = trace.getSpanContext(context.active());
    return caller !== undefined && isRecorded(caller) ? caller : undefined;
  };
  watch.onBatch = (report) => {
    if (report.callers.length > 0) record(report);
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
