import type { Attributes } from '@opentelemetry/api';
import { systemMonotonicMs } from '@quotadb/resp';
import type { Logger } from 'pino';
import { OccasionalLog } from '../logging/occasional-log.js';
import { encodeSpans } from './otlp.js';
import type { RecordedSpan } from './recorded-span.js';

/** Spans that wait to be sent; past it new ones are dropped and counted. */
const MAXIMUM_WAITING = 4096;
/** Spans in one request. */
const REQUEST_SPANS = 512;
const INTERVAL_MS = 1000;
const ANSWER_TIMEOUT_MS = 5000;

interface ExporterOptions {
  readonly endpoint: string;
  /** `name=value`, as in OTEL_EXPORTER_OTLP_HEADERS. */
  readonly headers: readonly string[];
  readonly resource: Attributes;
  readonly logger: Logger;
}

/** Sends spans to a collector, over HTTP, as JSON. While the collector is away spans are lost, and nothing else. */
export class OtlpExporter {
  lost = 0;
  private readonly options: ExporterOptions;
  private readonly address: string;
  private readonly headers: Record<string, string>;
  private readonly log = new OccasionalLog(systemMonotonicMs);
  private waiting: RecordedSpan[] = [];
  private sending: Promise<void> | undefined = undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(options: ExporterOptions) {
    this.options = options;
    this.address = `${withoutSlashes(options.endpoint)}/v1/traces`;
    this.headers = {
      ...Object.fromEntries(options.headers.map(splitHeader)),
      'content-type': 'application/json',
    };
    this.timer = setInterval(() => void this.flush(), INTERVAL_MS);
    this.timer.unref();
  }

  add(span: RecordedSpan): void {
    if (this.waiting.length >= MAXIMUM_WAITING) {
      this.lose(1, 'spans are made faster than they are sent');
      return;
    }
    this.waiting.push(span);
    if (this.waiting.length >= REQUEST_SPANS) void this.flush();
  }

  /** Resolves when all waiting spans were sent or lost. */
  flush(): Promise<void> {
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined;
    });
    return this.sending;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
    await this.flush();
  }

  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const spans = this.waiting.splice(0, REQUEST_SPANS);
      const trouble = await this.send(spans);
      if (trouble === undefined) continue;
      this.lose(spans.length, trouble);
      return;
    }
  }

  /** The reason of a failure; undefined where the collector took the spans. */
  private async send(spans: readonly RecordedSpan[]): Promise<string | undefined> {
    try {
      const response = await fetch(this.address, {
        method: 'POST',
        headers: this.headers,
        body: JSON.stringify(encodeSpans(spans, this.options.resource)),
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
        redirect: 'error',
      });
      await response.body?.cancel();
      return response.ok ? undefined : `the collector answers with ${response.status}`;
    } catch (error) {
      const { message, cause } = error as Error;
      return cause instanceof Error && cause.message !== '' ? cause.message : message;
    }
  }

  private lose(spans: number, reason: string): void {
    this.lost += spans;
    this.log.say('lost', () =>
      this.options.logger.warn(
        { endpoint: this.options.endpoint, reason, lost: this.lost },
        'spans could not be sent to --otlp-endpoint and are lost; check the collector',
      ),
    );
  }
}

function splitHeader(header: string): [name: string, value: string] {
  const at = header.indexOf('=');
  return [header.slice(0, at).trim(), header.slice(at + 1).trim()];
}

function withoutSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === '/') end--;
  return address.slice(0, end);
}
