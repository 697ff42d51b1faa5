import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { CLUSTER, materialOf, testAuthority } from './testing/material.js';
import { Transports, until } from './testing/transports.js';

const authority = await testAuthority();
const [us, eu, relay] = await Promise.all([
  materialOf('us', authority),
  materialOf('eu', authority),
  materialOf('hub', authority, { mayRelay: true }),
]);
const HOUR_MS = 3_600_000;
const expired = { from: new Date(Date.now() - 2 * HOUR_MS), to: new Date(Date.now() - HOUR_MS) };
const early = { from: new Date(Date.now() + HOUR_MS), to: new Date(Date.now() + 2 * HOUR_MS) };
const [expiredUs, expiredEu, earlyUs, earlyEu] = await Promise.all([
  materialOf('us', authority, { validity: expired }),
  materialOf('eu', authority, { validity: expired }),
  materialOf('us', authority, { validity: early }),
  materialOf('eu', authority, { validity: early }),
]);
const stranger = await materialOf('eu', await testAuthority());

const transports = new Transports();
afterEach(async () => {
  await transports.close();
  transports.accepted.length = 0;
  transports.refused.length = 0;
});

test('both sides know from the certificates who is at the other end, and with which rights', async () => {
  const { port } = await transports.listen({ tls: us });
  const fromEu = await transports.dial(port, { tls: eu, expectedRegion: 'us' });
  const fromHub = await transports.dial(port, { tls: relay, expectedRegion: 'us' });
  await until(() => transports.accepted.length === 2);
  expect(fromEu.stream.certified).toEqual({ cluster: CLUSTER, region: 'us', mayRelay: false });
  expect(transports.accepted.map(({ stream }) => stream.certified)).toEqual([
    { cluster: CLUSTER, region: 'eu', mayRelay: false },
    { cluster: CLUSTER, region: 'hub', mayRelay: true },
  ]);
  fromHub.stream.send(new Uint8Array(3_000_000).fill(7));
  await until(() => transports.accepted[1].frames.length === 1);
  expect(Buffer.compare(transports.accepted[1].frames[0], new Uint8Array(3_000_000).fill(7))).toBe(0);
});

test('both sides may send more than the network holds at once', async () => {
  const { port } = await transports.listen({ tls: us });
  const dialed = await transports.dial(port, { tls: eu });
  await until(() => transports.accepted.length === 1);
  const frame = new Uint8Array(4_000_000);
  for (let count = 0; count < 8; count++) for (const side of [dialed, transports.accepted[0]]) side.stream.send(frame);
  await until(() => [dialed, transports.accepted[0]].every((side) => side.frames.length === 8));
});

describe('a dialer that is not accepted gets the reason, and so does the listener', () => {
  test.each([
    [
      'of another authority',
      stranger,
      /"O=QuotaDB, OU=test, CN=eu" is of another authority than the one accepted here/,
    ],
    ['that has expired', expiredEu, /has expired: it was valid until/],
    ['that is not valid yet', earlyEu, /is not valid before/],
    [
      'of the authority itself',
      { ...eu, certificate: authority.certificate, key: authority.key },
      /is not meant for this/,
    ],
  ])('a certificate %s', async (_, tls, message) => {
    const { port } = await transports.listen({ tls: us });
    // The stranger trusts us all the same: it is we who do not trust it.
    const error = await transports.failure(port, { tls: { ...tls, authority: authority.certificate } });
    expect(error.code).toBe('certificate');
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+ turned this replica away: the certificate/);
    expect(error.message).toMatch(message);
    await until(() => transports.refused.length === 1);
    expect(transports.refused[0]).toMatchObject({
      reason: { code: 'certificate', message: expect.stringMatching(message) },
    });
    expect(transports.accepted).toEqual([]);
  });

  test('no certificate', async () => {
    const { port } = await transports.listen({ tls: us });
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      ca: us.authority,
      ALPNProtocols: ['h2'],
      checkServerIdentity: () => undefined,
    });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const { connect } = await import('node:http2');
    const session = connect('https://127.0.0.1', { createConnection: () => socket });
    const headers = await new Promise<Record<string, unknown>>((resolve) => {
      session
        .request({ ':method': 'POST', ':path': '/' })
        .on('response', resolve)
        .on('error', () => {});
    });
    expect(headers).toMatchObject({ 'grpc-status': '16', 'grpc-message': 'there is no certificate' });
    expect(transports.refused).toMatchObject([{ reason: { code: 'certificate', message: 'there is no certificate' } }]);
    session.destroy();
  });
});

describe('a listener that is not accepted gets no frame, and reports that the dialer left', () => {
  test.each([
    ['of another authority', stranger, /is of another authority/],
    ['that has expired', expiredUs, /has expired/],
    ['that is not valid yet', earlyUs, /is not valid before/],
    ['of another region', eu, /^the certificate at 127\.0\.0\.1:\d+ is that of test\/eu, not of region us$/],
  ])('a certificate %s', async (_, tls, message) => {
    const { port } = await transports.listen({ tls });
    expect(await transports.failure(port, { tls: relay, expectedRegion: 'us' })).toMatchObject({
      code: 'certificate',
      message,
    });
    await until(() => transports.refused.length === 1);
    expect(transports.refused[0].reason.message).toMatch(
      /does it accept the certificate here|it may not accept the certificate here/,
    );
    expect(transports.accepted).toEqual([]);
  });
});

describe('TLS at one side only is said to be that', () => {
  test('a plaintext dialer', async () => {
    const { port } = await transports.listen({ tls: us });
    const error = await transports.failure(port);
    expect(error.code).toMatch(/ended|protocol|unreachable/);
    await until(() => transports.refused.length === 1);
    expect(transports.refused[0].reason).toMatchObject({
      code: 'tls',
      message: expect.stringMatching(/does not speak TLS, and this one asks for it/),
    });
  });

  test('a plaintext listener', async () => {
    const { port } = await transports.listen();
    expect(await transports.failure(port, { tls: eu })).toMatchObject({
      code: 'tls',
      message: expect.stringMatching(/does not speak TLS, and this replica asks for it/),
    });
    await until(() => transports.refused.length === 1);
    expect(transports.refused[0].reason).toMatchObject({
      code: 'protocol',
      message: expect.stringMatching(/is TLS on at one side only/),
    });
  });

  test('TLS 1.2, or no HTTP/2', async () => {
    const { port } = await transports.listen({ tls: us });
    const options = {
      port,
      host: '127.0.0.1',
      ca: us.authority,
      cert: eu.certificate,
      key: eu.key,
      checkServerIdentity: () => undefined,
    };
    for (const [more, message] of [
      [{ maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] }, /does not speak TLS 1\.3/],
      [{ ALPNProtocols: ['http/1.1'] }, /not HTTP\/2/],
      [{}, /not HTTP\/2/],
    ] as const) {
      transports.refused.length = 0;
      const socket = connectTls({
        ...options,
        ...more,
        ALPNProtocols: [...('ALPNProtocols' in more ? more.ALPNProtocols : [])],
      });
      await new Promise((resolve) =>
        socket
          .on('error', () => {})
          .resume()
          .once('close', resolve),
      );
      await until(() => transports.refused.length === 1);
      expect(transports.refused[0].reason).toMatchObject({ code: 'tls', message: expect.stringMatching(message) });
    }
  });

  test('a dialer that closes or stays silent in the middle of the handshake', async () => {
    const { port } = await transports.listen({ tls: us, openingMs: 50 });
    const leaving = connectPlain(port, '127.0.0.1', () => leaving.destroy());
    await until(() => transports.refused.length === 1);
    const silent = connectPlain(port, '127.0.0.1');
    await new Promise((resolve) => silent.resume().once('close', resolve));
    await until(() => transports.refused.length === 2);
    expect(transports.refused[1].reason).toMatchObject({ code: 'silent' });
  });
});

test('new certificates are used without a restart; streams that are open stay', async () => {
  const { listener, port } = await transports.listen({ tls: us });
  const before = await transports.dial(port, { tls: eu });
  const next = await testAuthority();
  listener.reloadTls(await materialOf('us', next));
  expect(await transports.failure(port, { tls: eu })).toMatchObject({ code: 'certificate' });
  const after = await transports.dial(port, { tls: await materialOf('eu', next), expectedRegion: 'us' });
  for (const side of [before, after]) side.stream.send(Uint8Array.of(1));
  await until(() => transports.accepted.length === 2 && transports.accepted.every(({ frames }) => frames.length === 1));
});

test('while authorities change, one file may hold both', async () => {
  const next = await testAuthority();
  const both = `${authority.certificate}\n${next.certificate}`;
  const { port } = await transports.listen({ tls: { ...us, authority: both } });
  await transports.dial(port, { tls: eu });
  await transports.dial(port, { tls: { ...(await materialOf('ap', next)), authority: both } });
});

test('a listener without TLS has no certificates to reload', async () => {
  const { listener } = await transports.listen();
  expect(() => listener.reloadTls(us)).toThrow(/without TLS/);
});
