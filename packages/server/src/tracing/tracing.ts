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
import type { Logger } from 'pino';
import { OtlpExporter } from './exporter.js';
import { OwnContextManager, OwnTracerProvider } from './provider.js';

/** Makes nothing of it until tracing is on, or the process has another SDK of OpenTelemetry. */
export function startSpan(name: string, options?: SpanOptions, parent?: Context): Span {
  return trace.getTracer('quotadb', QUOTADB_VERSION).startSpan(name, options, parent);
}

export interface Tracing {
  /** Sends what is left. */
  stop(): Promise<void>;
}

/** Undefined where nobody asked for traces. */
export function startTracing(config: Configuration, logger: Logger): Tracing | undefined {
  if (config.otlpEndpoint === '') return undefined;
  const exporter = new OtlpExporter({
    endpoint: config.otlpEndpoint,
    headers: config.otlpHeaders,
    resource: {
      'service.name': 'quotadb',
      'service.version': QUOTADB_VERSION,
      'service.namespace': config.cluster,
      'service.instance.id': config.region,
      'process.pid': process.pid,
    },
    logger,
  });
  const manager = new OwnContextManager();
  const provider = new OwnTracerProvider({ every: config.traceEvery, ended: (span) => exporter.add(span) });
  const isOurs = trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(manager);
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

/** A span of something that is over: it has taken so long until now. */
export function recordPast(name: string, milliseconds: number, attributes: Attributes, error?: string): void {
  const endMs = performance.timeOrigin + performance.now();
  const span = startSpan(name, { startTime: endMs - milliseconds, attributes, root: true });
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end(endMs);
}
