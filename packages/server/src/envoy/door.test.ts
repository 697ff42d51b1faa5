import { createToken, type UserRecord } from '@quotadb/config';
import { eventually } from '@quotadb/resp/testing';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';
import { describe, expect, test } from 'vitest';
import { certificateFiles, createAuthority, issueCertificate } from '../testing/test-certificates.js';
import { useEnvoyServers } from './testing/use-envoy-servers.js';

const start = useEnvoyServers();

const YAML = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: minute, requests_per_unit: 5 } }';

describe('who may call', () => {
  const tokens = { writer: createToken(), taker: createToken(), reader: createToken(), other: createToken() };
  const user = (
    name: keyof typeof tokens,
    roles: UserRecord['roles'],
    prefixes: string[] = [],
  ): [string, UserRecord] => [name, { name, roles, prefixes, passwords: [], tokens: [tokens[name].hash] }];
  const users = new Map([
    user('writer', ['write']),
    user('taker', ['quota']),
    user('reader', ['read']),
    user('other', ['write'], ['other-']),
  ]);

  test('with users: a token of one who may write or take from quotas, in domains of the prefixes', async () => {
    const { client, connect } = await start(YAML, { users });
    const ask = (name: keyof typeof tokens) =>
      connect({ authorization: `Bearer ${tokens[name].token}` }).ask('d', [['k', 'v']]);
    expect((await ask('writer')).overallCode).toBe('OK');
    expect((await ask('taker')).overallCode).toBe('OK');
    await expect(ask('reader')).rejects.toThrow("7 PERMISSION_DENIED: this caller may not count in the domain 'd'");
    await expect(ask('other')).rejects.toThrow(/PERMISSION_DENIED/);
    await expect(client.ask('d', [['k', 'v']])).rejects.toThrow(/16 UNAUTHENTICATED: send a token or a password/);
    await expect(connect({ authorization: 'Bearer wrong' }).ask('d', [['k', 'v']])).rejects.toThrow(/UNAUTHENTICATED/);
    expect(await client.health()).toBe('SERVING');
  });

  test('with a password: Basic, as over HTTP', async () => {
    const { client, connect } = await start(YAML, { password: 'secret' });
    const basic = (password: string) => `Basic ${Buffer.from(`default:${password}`).toString('base64')}`;
    expect((await connect({ authorization: basic('secret') }).ask('d', [['k', 'v']])).overallCode).toBe('OK');
    // The password takes a while to check; what a lasting call sends meanwhile is not lost.
    const type = 'grpc.reflection.v1.ServerReflection';
    const reflection = connect({ authorization: basic('secret') }).stream(
      `/${type}/ServerReflectionInfo`,
      `${type}Request`,
      `${type}Response`,
    );
    reflection.call.write({ listServices: '' });
    reflection.call.write({ listServices: '' });
    reflection.call.end();
    await reflection.status;
    expect(reflection.replies).toHaveLength(2);
    await expect(connect({ authorization: basic('guess') }).ask('d', [['k', 'v']])).rejects.toThrow(/UNAUTHENTICATED/);
    await expect(client.ask('d', [['k', 'v']])).rejects.toThrow(/UNAUTHENTICATED/);
  });

  test('over TLS: the certificate of the server, and of the client where it is required', async () => {
    const files = await certificateFiles();
    const authority = createAuthority('authority');
    const own = await files.write('server', issueCertificate(authority, 'server'));
    const { certificate: tlsAuthority } = await files.write('authority', authority);
    const identity = issueCertificate(authority, 'proxy');
    const { connect, client } = await start(YAML, {
      rlsTls: true,
      tlsCertificate: own.certificate,
      tlsKey: own.key,
      tlsAuthority,
      tlsClients: 'required',
    });
    await files.remove();
    const ca = Buffer.from(authority.certificate);
    const proxy = { authority: ca, key: Buffer.from(identity.key), certificate: Buffer.from(identity.certificate) };
    expect((await connect({ tls: proxy }).ask('d', [['k', 'v']])).overallCode).toBe('OK');
    await expect(connect({ tls: { authority: ca } }).ask('d', [['k', 'v']])).rejects.toThrow(/UNAVAILABLE/);
    await expect(client.ask('d', [['k', 'v']])).rejects.toThrow(/UNAVAILABLE/);
  });
});

test('health: the server and its services are serving; an unknown service is not found', async () => {
  const { client } = await start(YAML);
  expect(await client.health()).toBe('SERVING');
  expect(await client.health('envoy.service.ratelimit.v3.RateLimitService')).toBe('SERVING');
  await expect(client.health('nothing')).rejects.toThrow(/5 NOT_FOUND/);
});

test('health: a client that watches is notified when the server stops', async () => {
  const { client, server } = await start(YAML);
  const watch = client.stream(
    '/grpc.health.v1.Health/Watch',
    'grpc.health.v1.HealthCheckRequest',
    'grpc.health.v1.HealthCheckResponse',
  );
  watch.call.write({});
  await eventually(() => expect(watch.replies).toEqual([{ status: 'SERVING' }]));
  await server.stop();
  expect(watch.replies).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }]);
  expect((await watch.status).details).toBe('the server is stopping');
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  test('a client that has no .proto file learns the services and builds their messages', async () => {
    const { client } = await start(YAML);
    const type = (name: string) => `grpc.reflection.${version}.ServerReflection${name}`;
    const { call, replies, status } = client.stream(
      `/${type('/ServerReflectionInfo')}`,
      type('Request'),
      type('Response'),
    );
    call.write({ listServices: '' });
    call.write({ fileContainingSymbol: 'envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit' });
    call.write({ fileByFilename: 'google/protobuf/duration.proto' });
    call.write({ fileContainingSymbol: 'no.such.Symbol' });
    call.end();
    await status;
    const [services, files, duration, none] = replies as Record<string, Record<string, unknown>>[];
    expect(services.listServicesResponse.service).toEqual([
      { name: 'envoy.service.ratelimit.v3.RateLimitService' },
      { name: 'envoy.service.rate_limit_quota.v3.RateLimitQuotaService' },
      { name: 'grpc.health.v1.Health' },
    ]);
    expect(duration.fileDescriptorResponse.fileDescriptorProto).toHaveLength(1);
    expect(none.errorResponse).toEqual({ errorCode: 5, errorMessage: "there is no symbol 'no.such.Symbol'" });
    const file = (files.fileDescriptorResponse.fileDescriptorProto as Buffer[]).map((bytes) =>
      descriptor.FileDescriptorProto.decode(bytes),
    );
    const root = (protobuf.Root as unknown as { fromDescriptor(set: object): protobuf.Root }).fromDescriptor({ file });
    root.resolveAll();
    const method = root.lookupService('envoy.service.ratelimit.v3.RateLimitService').methods.ShouldRateLimit;
    expect(method.resolvedResponseType?.fields.dynamicMetadata.id).toBe(6);
  });
});

describe('the files of the configuration', () => {
  const five = async (ask: () => Promise<{ statuses: readonly { currentLimit?: { requestsPerUnit?: number } }[] }>) =>
    (await ask()).statuses[0].currentLimit?.requestsPerUnit;

  test('are watched: a change takes effect, and one with mistakes leaves the former limits in use', async () => {
    const { client, write, server } = await start(YAML);
    const ask = () => client.ask('d', [['k', 'v']]);
    expect(await five(ask)).toBe(5);
    await write('config.yaml', YAML.replace('5', '7'));
    await eventually(async () => expect(await five(ask)).toBe(7));
    await write('config.yaml', YAML.replace('5', 'many'));
    await eventually(async () => expect(await server.metrics.render()).toMatch(/rls_config_loads_total{.*failed.*} 1/));
    expect(await five(ask)).toBe(7);
    await write('config.yaml', YAML.replace('5', '8'));
    await write('other.yaml', YAML.replace('domain: d', 'domain: e'));
    await eventually(async () => expect((await client.ask('e', [['k', 'v']])).statuses[0].currentLimit).toBeDefined());
    expect(await five(ask)).toBe(8);
  });

  test('exact limits are quotas: defined with the files, changed and dropped with them', async () => {
    const exact = (limit: number) =>
      `domain: d\ndescriptors:\n  - { key: k, exact: true, rate_limit: { unit: hour, requests_per_unit: ${limit} } }`;
    const { client, write, server } = await start(exact(2));
    const ask = async () => (await client.ask('d', [['k', 'v']])).overallCode;
    expect([await ask(), await ask(), await ask()]).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    await write('config.yaml', exact(4));
    await eventually(async () => expect(await server.metrics.render()).toMatch(/quota_limit{.*envoy:d\.k:hour.*} 4/));
    expect([await ask(), await ask(), await ask()]).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    await write('config.yaml', YAML);
    await eventually(async () => expect(await server.metrics.render()).not.toMatch(/quota_limit{.*envoy:d/));
    expect(await ask()).toBe('OK');
  });

  test('with mistakes at the start: the server does not start, and says all of them', async () => {
    const wrong = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: blink } }\n  - { kee: k }';
    await expect(start(wrong)).rejects.toThrow(/config\.yaml:3: 'blink'.*\n.*config\.yaml:4: .*'kee'/);
  });
});
