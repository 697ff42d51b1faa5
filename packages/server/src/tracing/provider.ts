import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import {
  type Context,
  type ContextManager,
  context as contexts,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { RecordedSpan } from './recorded-span.js';

/**
 * Makes spans behind the interfaces of OpenTelemetry. Of the traces that begin here one in `every` is recorded; for the
 * others their caller has decided.
 */
export class OwnTracer implements Tracer, TracerProvider {
  private readonly every: number;
  private readonly ended: (span: RecordedSpan) => void;

  constructor(every: number, ended: (span: RecordedSpan) => void) {
    this.every = every;
    this.ended = ended;
  }

  getTracer(): Tracer {
    return this;
  }

  startSpan(name: string, options: SpanOptions = {}, context: Context = contexts.active()): Span {
    const parent = options.root === true ? undefined : parentIn(context);
    const isSampled = parent === undefined ? Math.random() * this.every < 1 : isRecorded(parent);
    const own: SpanContext = {
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    };
    if (!isSampled) return trace.wrapSpanContext(own);
    const span = new RecordedSpan({
      name,
      kind: options.kind ?? SpanKind.INTERNAL,
      context: own,
      parentSpanId: parent?.spanId,
      startTime: options.startTime,
      ended: this.ended,
    });
    return span.setAttributes(options.attributes ?? {}).addLinks(options.links ?? []);
  }

  startActiveSpan<Run extends (span: Span) => unknown>(name: string, run: Run): ReturnType<Run>;
  startActiveSpan<Run extends (span: Span) => unknown>(name: string, options: SpanOptions, run: Run): ReturnType<Run>;
  startActiveSpan<Run extends (span: Span) => unknown>(
    name: string,
    options: SpanOptions,
    context: Context,
    run: Run,
  ): ReturnType<Run>;
  startActiveSpan(name: string, ...given: unknown[]): unknown {
    const run = given.at(-1) as (span: Span) => unknown;
    const options = given.length > 1 ? (given[0] as SpanOptions) : {};
    const context = given.length > 2 ? (given[1] as Context) : contexts.active();
    const span = this.startSpan(name, options, context);
    return contexts.with(trace.setSpan(context, span), () => run(span));
  }
}

function parentIn(context: Context): SpanContext | undefined {
  const parent = trace.getSpanContext(context) ?? INVALID_SPAN_CONTEXT;
  return isSpanContextValid(parent) ? parent : undefined;
}

export function isRecorded({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** Knows the span of the code that runs now, also across `await`. */
export class OwnContextManager implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Arguments extends unknown[], Run extends (...given: Arguments) => ReturnType<Run>>(
    context: Context,
    run: Run,
    thisValue?: ThisParameterType<Run>,
    ...given: Arguments
  ): ReturnType<Run> {
    return this.storage.run(context, () => run.call(thisValue as never, ...given));
  }

  bind<Target>(context: Context, target: Target): Target {
    if (typeof target !== 'function') return target;
    return ((...given: unknown[]) => this.storage.run(context, () => target(...given))) as Target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.storage.disable();
    return this;
  }
}
