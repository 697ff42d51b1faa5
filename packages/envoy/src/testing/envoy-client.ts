import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import protobuf from 'protobufjs';

type Plain = Record<string, unknown>;

const folder = fileURLToPath(new URL('../../src/definitions/', import.meta.url));
const root = new protobuf.Root();
root.resolvePath = (_, target) => (target.startsWith('google/') ? target : `${folder}${target.split('/').at(-1)}`);
root.loadSync([
  'rate-limit-service.proto',
  'rate-limit-quota-service.proto',
  'health.proto',
  'reflection-v1.proto',
  'reflection-v1alpha.proto',
]);

/** Messages as protobufjs reads and writes them: enums are names, 64-bit numbers are texts. */
function messageType(name: string): protobuf.Type {
  return root.lookupType(name);
}

export function encodeBy(name: string, plain: Plain): Buffer {
  const type = messageType(name);
  return Buffer.from(type.encode(type.fromObject(plain)).finish());
}

export function decodeBy(name: string, bytes: Uint8Array): Plain {
  const type = messageType(name);
  return type.toObject(type.decode(bytes), { longs: Number, enums: String, arrays: false });
}

const RLS = 'envoy.service.ratelimit.v3';
const RLQS = 'envoy.service.rate_limit_quota.v3';

export interface EnvoyClientOptions {
  readonly authorization?: string;
  /** PEM: the authority, and where the server asks for one, the client's key and certificate. */
  readonly tls?: { readonly authority: Buffer; readonly key?: Buffer; readonly certificate?: Buffer };
  readonly timeoutMs?: number;
}

/** An RLS reply as tests read it. */
export interface RateLimitReply {
  readonly overallCode: string;
  readonly statuses: readonly {
    readonly code: string;
    readonly currentLimit?: { readonly requestsPerUnit?: number; readonly unit: string; readonly name?: string };
    readonly limitRemaining?: number;
    readonly durationUntilReset?: { readonly seconds?: number };
  }[];
  readonly responseHeadersToAdd?: readonly { readonly key: string; readonly value: string }[];
  readonly dynamicMetadata?: Plain;
}

/**
 * Calls the services with another stack than the server's: @grpc/grpc-js for the transport and protobufjs for the
 * messages, both from the .proto files.
 */
export class EnvoyClient {
  private readonly client: grpc.Client;
  private readonly metadata = new grpc.Metadata();
  private readonly timeoutMs: number;

  constructor(port: number, { authorization, tls, timeoutMs = 10_000 }: EnvoyClientOptions = {}) {
    const credentials =
      tls === undefined
        ? grpc.credentials.createInsecure()
        : grpc.credentials.createSsl(tls.authority, tls.key ?? null, tls.certificate ?? null);
    this.client = new grpc.Client(`localhost:${port}`, credentials, { 'grpc.enable_http_proxy': 0 });
    this.timeoutMs = timeoutMs;
    if (authorization !== undefined) this.metadata.set('authorization', authorization);
  }

  shouldRateLimit(request: Plain): Promise<RateLimitReply> {
    return this.call(`/${RLS}.RateLimitService/ShouldRateLimit`, `${RLS}.RateLimitRequest`, request, (bytes) =>
      decodeBy(`${RLS}.RateLimitResponse`, bytes),
    ) as Promise<unknown> as Promise<RateLimitReply>;
  }

  /** The domain, and descriptors of entries: `[['key', 'value'], …]`. */
  ask(domain: string, ...descriptors: (readonly (readonly [string, string])[])[]): Promise<RateLimitReply> {
    const plain = descriptors.map((pairs) => ({ entries: pairs.map(([key, value]) => ({ key, value })) }));
    return this.shouldRateLimit({ domain, descriptors: plain });
  }

  async health(service = ''): Promise<unknown> {
    const type = 'grpc.health.v1.HealthCheckRequest';
    const decode = (bytes: Buffer) => decodeBy('grpc.health.v1.HealthCheckResponse', bytes);
    return ((await this.call('/grpc.health.v1.Health/Check', type, { service }, decode)) as Plain).status;
  }

  /** A call with messages both ways; `replies` grows. */
  stream(path: string, requestType: string, replyType: string) {
    const replies: Plain[] = [];
    const call = this.client.makeBidiStreamRequest(
      path,
      (plain: Plain) => encodeBy(requestType, plain),
      (bytes: Buffer) => decodeBy(replyType, bytes),
      this.metadata,
    );
    call.on('data', (reply: Plain) => replies.push(reply));
    call.on('error', () => {});
    const status = new Promise<grpc.StatusObject>((resolve) => call.on('status', resolve));
    return { call, replies, status };
  }

  reports() {
    return this.stream(
      `/${RLQS}.RateLimitQuotaService/StreamRateLimitQuotas`,
      `${RLQS}.RateLimitQuotaUsageReports`,
      `${RLQS}.RateLimitQuotaResponse`,
    );
  }

  close(): void {
    this.client.close();
  }

  private call(path: string, type: string, plain: Plain, decode: (bytes: Buffer) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        (request: Plain) => encodeBy(type, request),
        decode,
        plain,
        this.metadata,
        { deadline: Date.now() + this.timeoutMs },
        (error, reply) => (error === null ? resolve(reply) : reject(error)),
      );
    });
  }
}
