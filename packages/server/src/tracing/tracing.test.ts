import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Configuration } from '@quotadb/config';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, startTestServer, TestClient, TestRegions } from '../testing/index.js';
import { OtlpExporter } from './exporter.js';
import { RecordedSpan } from './recorded-span.js';
import { readTraceparent } from './traceparent.js';
import { startSpan } from './tracing.js';

const SERVER_KIND = 2;
const CLIENT_KIND = 3;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
/** A database, or several regions, take their time on a busy machine. */
const SLOW_TEST_MS = 90_000;

let collector: TraceCollector;
const opened: (() => Promise<void> | void)[] = [];
beforeEach(async () => {
  collector = await TraceCollector.open();
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  collector.close();
});

async function start(settings: Partial<Configuration> = {}) {
  const server = await startTestServer({ otlpEndpoint: collector.endpoint, region: 'us', ...settings });
  opened.push(() => server.stop());
  const client = await TestClient.open(server.port);
  opened.push(() => client.close());
  const request = (path: string, options: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${server.httpPort}/api/v1/${path}`, options);
  return { server, client, request };
}

const found = (name: string) => eventually(() => expect(collector.named(name)).not.toEqual([]));

describe('traces', () => {
  test('a request belongs to the trace of its caller, and its name holds no key', async () => {
    const { client, request } = await start({ otlpHeaders: ['x-api-key=secret'] });
    await client.call('INCR', 'secret-customer');
    await request('keys/secret-customer', { headers: { traceparent: `00-${TRACE}-${CALLER}-01` } });
    await request('keys/none');
    await eventually(() => expect(collector.named('GET /api/v1/keys/{name}')).toHaveLength(2));
    const [inTrace, alone] = collector.named('GET /api/v1/keys/{name}');
    expect(inTrace).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: SERVER_KIND });
    expect(inTrace.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/api/v1/keys/{name}',
      'http.response.status_code': 200,
    });
    expect(inTrace.resource).toMatchObject({ 'service.name': 'quotadb', 'service.instance.id': 'us' });
    expect(inTrace.milliseconds).toBeGreaterThan(0);
    expect(alone.traceId).not.toBe(TRACE);
    expect(alone.parentSpanId).toBeUndefined();
    expect(JSON.stringify(collector.spans)).not.toContain('secret-customer');
    expect(collector.headers[0]['x-api-key']).toBe('secret');
  });

  test('a caller that does not record its trace is not recorded here; health and metrics never are', async () => {
    const { server, request } = await start();
    await request('keys/a', { headers: { traceparent: `00-${TRACE}-${CALLER}-00` } });
    for (const path of ['healthz', 'readyz', 'metrics']) await fetch(`http://127.0.0.1:${server.httpPort}/${path}`);
    await request('keys/b', { headers: { traceparent: 'nonsense' } });
    await found('GET /api/v1/keys/{name}');
    expect(collector.spans).toHaveLength(1);
  });

  test('a take that a lane cannot answer alone, and a snapshot, have spans', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-tracing-'));
    opened.push(() => rm(directory, { recursive: true, force: true }));
    const { client } = await start({ dataDirectory: directory });
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '10', 'WINDOW', '3600000');
    await client.call('QUOTA.TAKE', 'emails', 'acme', '1');
    await client.call('SAVE');
    await found('quota take');
    await found('snapshot');
    expect(collector.named('quota take')[0].attributes).toEqual({
      'quotadb.quota': ['emails'],
      'quotadb.allowed': true,
    });
    expect(collector.named('snapshot')[0].attributes['quotadb.bytes']).toBeGreaterThan(0);
  });

  test(
    'a statement of PostgreSQL stands in the trace of the request that it served',
    async () => {
      const { request } = await start();
      const body = JSON.stringify({ itemId: 'visits', initialValue: 0 });
      const headers = { 'content-type': 'application/json' };
      await request('internal/counts', { method: 'POST', headers, body });
      const increase = { method: 'POST', headers: { traceparent: `00-${TRACE}-${CALLER}-01` } };
      expect((await request('counts/visits/increase', increase)).status).toBe(200);
      await found('counts batch');
      const [statement] = collector.named('counts batch');
      const [served] = collector.named('POST /api/v1/counts/{name}/increase');
      expect(statement).toMatchObject({ traceId: TRACE, parentSpanId: served.spanId, kind: CLIENT_KIND });
      expect(statement.attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.operation.batch.size': 1 });
    },
    SLOW_TEST_MS,
  );

  test(
    'spans show how long regions took to catch up, and to get tokens from each other',
    async () => {
      const flags = ['--otlp-endpoint', collector.endpoint, '--home', 'eu'];
      const regions = await TestRegions.start(['eu', 'us'], { flags });
      opened.push(() => regions.close());
      await eventually(async () =>
        expect(await regions.call('us', 'QUOTA.DEFINE', 'emails', 'LIMIT', 100, 'WINDOW', 3_600_000)).toBe('+OK\r\n'),
      );
      await eventually(async () =>
        expect(await regions.call('us', 'QUOTA.TAKE', 'emails', 'acme', 1)).toMatch(/^\*5\r\n:1/),
      );
      await found('tokens wanted');
      const isCaughtUp = ({ status }: ReceivedSpan) => status.code === SpanStatusCode.UNSET;
      await eventually(() => expect(collector.named('replication resync').filter(isCaughtUp)).not.toEqual([]));
      const wanted = collector.named('tokens wanted').find(({ attributes }) => attributes['quotadb.granted'] !== 0);
      expect(wanted?.attributes).toMatchObject({ 'quotadb.quota': 'emails', 'quotadb.peer': 'eu' });
      expect(wanted?.resource['service.instance.id']).toBe('us');
    },
    SLOW_TEST_MS,
  );

  test('without an endpoint nothing is recorded and nothing sent', async () => {
    const { request } = await start({ otlpEndpoint: '' });
    await request('keys/a', { headers: { traceparent: `00-${TRACE}-${CALLER}-01` } });
    expect(startSpan('nothing').isRecording()).toBe(false);
    expect(collector.headers).toEqual([]);
  });

  test('a collector that is away costs the spans and nothing else', async () => {
    const { endpoint } = collector;
    collector.close();
    const exporter = new OtlpExporter({ endpoint, headers: [], resource: {}, logger: pino({ level: 'silent' }) });
    opened.push(() => exporter.stop());
    for (let count = 0; count < 10_000; count++) exporter.add(spanNamed('x'));
    await exporter.stop();
    expect(exporter.lost).toBeGreaterThan(5000);
  });
});

function spanNamed(name: string): RecordedSpan {
  const context = { traceId: TRACE, spanId: CALLER, traceFlags: 1 };
  const options = { name, kind: SpanKind.INTERNAL, context, parentSpanId: undefined, startTime: undefined };
  return new RecordedSpan({ ...options, ended: () => {} });
}

test('a span has bounds, and ends once', () => {
  let endings = 0;
  const context = { traceId: TRACE, spanId: CALLER, traceFlags: 1 };
  const options = { name: 'x', kind: SpanKind.INTERNAL, context, parentSpanId: undefined, startTime: 5 };
  const span = new RecordedSpan({ ...options, ended: () => endings++ });
  for (let index = 0; index < 1000; index++) span.setAttribute(`a${index}`, index).addEvent('e').addLink({ context });
  span.end(3);
  span.end(9);
  expect([Object.keys(span.attributes).length, span.events.length, span.links.length]).toEqual([32, 16, 32]);
  expect([endings, span.endMs, span.isRecording()]).toEqual([1, 5, false]);
});

test('a traceparent is understood, or it is as if there were none', () => {
  const known = { traceId: TRACE, spanId: CALLER, traceFlags: 1, isRemote: true };
  expect(readTraceparent(`00-${TRACE}-${CALLER}-01`)).toEqual(known);
  expect(readTraceparent(`cc-${TRACE}-${CALLER}-03-more`)).toEqual(known);
  const wrong = [
    '',
    'x',
    `ff-${TRACE}-${CALLER}-01`,
    `00-${TRACE}-${CALLER}-01-more`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
  ];
  for (const header of [
    undefined,
    ...wrong,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${CALLER}-01`,
  ])
    expect(readTraceparent(header)).toBeUndefined();
});

/** A span as it was received, with its attributes as plain values. */
interface ReceivedSpan {
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
class TraceCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: Record<string, unknown>[] = [];
  private readonly server: HttpServer;

  private constructor() {
    this.server = createHttpServer((request, response) => {
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
