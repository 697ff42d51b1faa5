import {
  type Attributes,
  type AttributeValue,
  type Exception,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
} from '@opentelemetry/api';

/** Bounds of one span; entries past them are dropped. */
const MAXIMUM_ATTRIBUTES = 32;
const MAXIMUM_EVENTS = 16;
const MAXIMUM_LINKS = 32;

interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Attributes;
}

/** A span that will be exported. Times are milliseconds since 1970, with fractions. */
export class RecordedSpan implements Span {
  name: string;
  readonly kind: SpanKind;
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  endMs = 0;
  status: SpanStatus = { code: SpanStatusCode.UNSET };
  readonly attributes: Record<string, AttributeValue> = {};
  readonly events: SpanEvent[] = [];
  readonly links: Link[] = [];
  private readonly own: SpanContext;
  private readonly ended: (span: RecordedSpan) => void;
  private isOver = false;

  constructor(options: {
    readonly name: string;
    readonly kind: SpanKind;
    readonly context: SpanContext;
    readonly parentSpanId: string | undefined;
    readonly startTime: TimeInput | undefined;
    readonly ended: (span: RecordedSpan) => void;
  }) {
    this.name = options.name;
    this.kind = options.kind;
    this.own = options.context;
    this.parentSpanId = options.parentSpanId;
    this.startMs = millisecondsOf(options.startTime);
    this.ended = options.ended;
  }

  spanContext(): SpanContext {
    return this.own;
  }

  setAttribute(key: string, value: AttributeValue): this {
    const isKnown = key in this.attributes;
    if (isKnown || Object.keys(this.attributes).length < MAXIMUM_ATTRIBUTES) this.attributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) this.setAttribute(key, value);
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    const attributes = isAttributes(attributesOrTime) ? attributesOrTime : {};
    const at = isAttributes(attributesOrTime) ? time : attributesOrTime;
    if (this.events.length < MAXIMUM_EVENTS) this.events.push({ name, atMs: millisecondsOf(at), attributes });
    return this;
  }

  addLink(link: Link): this {
    if (this.links.length < MAXIMUM_LINKS) this.links.push(link);
    return this;
  }

  addLinks(links: Link[]): this {
    for (const link of links) this.addLink(link);
    return this;
  }

  setStatus(status: SpanStatus): this {
    this.status = status;
    return this;
  }

  updateName(name: string): this {
    this.name = name;
    return this;
  }

  end(time?: TimeInput): void {
    if (this.isOver) return;
    this.isOver = true;
    this.endMs = Math.max(millisecondsOf(time), this.startMs);
    this.ended(this);
  }

  isRecording(): boolean {
    return !this.isOver;
  }

  recordException(exception: Exception, time?: TimeInput): void {
    const { message = '', name = 'Error' } = typeof exception === 'string' ? { message: exception } : exception;
    this.addEvent('exception', { 'exception.type': name, 'exception.message': message }, time);
  }
}

function isAttributes(given: Attributes | TimeInput | undefined): given is Attributes {
  return typeof given === 'object' && !Array.isArray(given) && !(given instanceof Date);
}

function millisecondsOf(time: TimeInput | undefined): number {
  if (time === undefined) return performance.timeOrigin + performance.now();
  if (typeof time === 'number') return time;
  if (time instanceof Date) return time.getTime();
  const [seconds, nanoseconds] = time as HrTime;
  return seconds * 1000 + nanoseconds / 1e6;
}
