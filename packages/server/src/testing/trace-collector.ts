import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it was received, with its attributes as plain values. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly milliseconds: number;
  readonly status: { readonly code: number; readonly message?: string };
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan extends Omit<ReceivedSpan, 'attributes' | 'milliseconds' | 'resource'> {
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** As much of an OpenTelemetry collector as tests need: takes OTLP over HTTP in JSON, and keeps the spans. */
export class TraceCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: Record<string, unknown>[] = [];
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const isRight = request.method === 'POST' && request.url === '/v1/traces';
        this.headers.push({ ...request.headers });
        if (isRight) this.take(JSON.parse(Buffer.concat(chunks).toString()) as OtlpRequest);
        response.writeHead(isRight ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    await new Promise<void>((resolve) => collector.server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private take({ resourceSpans }: OtlpRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          ...span,
          milliseconds: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
          attributes: plain(span.attributes),
          resource: plain(resource.attributes),
        });
      }
    }
  }
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Readonly<Record<string, unknown>>): unknown {
  if ('intValue' in value) return Number(value.intValue);
  if ('arrayValue' in value)
    return (value.arrayValue as { values: Record<string, unknown>[] }).values.map((item) => plainValue(item));
  return Object.values(value)[0];
}
