import {
  type Attributes,
  type Context,
  context,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Configuration } from '@quotadb/config';
import { QUOTADB_VERSION } from '@quotadb/config';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import { OtlpExporter } from './exporter.js';
import { OwnContextManager, OwnTracer } from './provider.js';

/** Starts a span; a no-op unless tracing is on or the process has another SDK of OpenTelemetry. */
export function startSpan(name: string, options?: SpanOptions, parent?: Context): Span {
  return trace.getTracer('quotadb', QUOTADB_VERSION).startSpan(name, options, parent);
}

export interface Tracing {
  /** Sends the last spans. */
  stop(): Promise<void>;
}

/** Undefined without --otlp-endpoint. */
export function startTracing(config: Configuration, logger: Logger): Tracing | undefined {
  if (config.otlpEndpoint === '') return undefined;
  const exporter = new OtlpExporter({
    endpoint: config.otlpEndpoint,
    headers: config.otlpHeaders,
    resource: {
      'service.name': 'quotadb',
      'service.version': QUOTADB_VERSION,
      'service.namespace': config.cluster,
      'service.instance.id': serverName(config),
      'process.pid': process.pid,
    },
    logger,
  });
  const isOurs = trace.setGlobalTracerProvider(new OwnTracer(config.traceEvery, (span) => exporter.add(span)));
  context.setGlobalContextManager(new OwnContextManager());
  if (!isOurs) logger.warn('this process has an SDK of OpenTelemetry already: spans go there, not to --otlp-endpoint');
  return {
    async stop() {
      await exporter.stop();
      if (!isOurs) return;
      trace.disable();
      context.disable();
    },
  };
}

/** Records a span that ends now and began `milliseconds` ago. */
export function recordPast(name: string, milliseconds: number, attributes: Attributes, error?: string): void {
  const endMs = performance.timeOrigin + performance.now();
  const span = startSpan(name, { startTime: endMs - milliseconds, attributes, root: true });
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end(endMs);
}
