import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { EXCHANGE_PATH } from './protocol.js';
import { materialOf, testAuthority } from './testing/material.js';
import { Transports, until } from './testing/transports.js';
import type { TlsMaterial } from './tls-material.js';

/** Real gRPC at the other end: frames are bytes to it as they are to us. */
const authority = await testAuthority();
const [us, eu] = await Promise.all([materialOf('us', authority), materialOf('eu', authority)]);

const exchange: grpc.MethodDefinition<Buffer, Buffer> = {
  path: EXCHANGE_PATH,
  requestStream: true,
  responseStream: true,
  requestSerialize: (bytes) => bytes,
  requestDeserialize: (bytes) => bytes,
  responseSerialize: (bytes) => bytes,
  responseDeserialize: (bytes) => bytes,
};
const SIZES = [0, 1, 100, 16_384, 70_000, 1_000_000, 4 * 1024 * 1024, 10];
const LIMITS = { 'grpc.max_receive_message_length': 8 * 1024 * 1024, 'grpc.max_send_message_length': 8 * 1024 * 1024 };

const transports = new Transports();
const closing: (() => void)[] = [];
afterEach(async () => {
  await transports.close();
  for (const close of closing.splice(0)) close();
  transports.accepted.length = 0;
  transports.refused.length = 0;
});

function patterned(length: number): Buffer {
  return Buffer.alloc(length, 'quotadb');
}

function expectAll(frames: readonly Uint8Array[]): void {
  expect(frames.map((frame) => frame.length)).toEqual(SIZES);
  for (const [index, size] of SIZES.entries()) expect(Buffer.compare(frames[index], patterned(size))).toBe(0);
}

function openClient(port: number, tls: TlsMaterial | undefined, path = EXCHANGE_PATH) {
  const credentials =
    tls === undefined
      ? grpc.credentials.createInsecure()
      : grpc.credentials.createSsl(Buffer.from(tls.authority), Buffer.from(tls.key), Buffer.from(tls.certificate));
  const client = new grpc.Client(`localhost:${port}`, credentials, LIMITS);
  closing.push(() => client.close());
  const { requestSerialize, responseDeserialize } = exchange;
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const frames: Buffer[] = [];
  const status = new Promise<grpc.StatusObject>((resolve) => call.on('status', resolve));
  call.on('data', (frame: Buffer) => frames.push(frame));
  call.on('error', () => {});
  return { call, frames, status };
}

async function openServer(
  tls: TlsMaterial | undefined,
  handle: grpc.handleBidiStreamingCall<Buffer, Buffer>,
): Promise<number> {
  const server = new grpc.Server(LIMITS);
  closing.push(() => server.forceShutdown());
  server.addService({ Exchange: exchange }, { Exchange: handle });
  const credentials =
    tls === undefined
      ? grpc.ServerCredentials.createInsecure()
      : grpc.ServerCredentials.createSsl(
          Buffer.from(tls.authority),
          [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) }],
          true,
        );
  return await new Promise((resolve, reject) => {
    server.bindAsync('localhost:0', credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  });
}

describe.each([
  ['in plaintext', undefined, undefined],
  ['over TLS', us, eu],
])('with grpc-js, %s', (_, listenerTls, dialerTls) => {
  test('its client talks to our listener, both ways, and the end is an OK', async () => {
    const { port } = await transports.listen({ host: 'localhost', ...(listenerTls && { tls: listenerTls }) });
    const { call, frames, status } = openClient(port, dialerTls);
    for (const size of SIZES) call.write(patterned(size));
    await until(() => transports.accepted[0]?.frames.length === SIZES.length);
    const [accepted] = transports.accepted;
    expectAll(accepted.frames);
    expect(accepted.stream.certified?.region).toBe(dialerTls && 'eu');
    for (const size of SIZES) accepted.stream.send(patterned(size));
    await until(() => frames.length === SIZES.length);
    expectAll(frames);
    call.end();
    expect(await status).toMatchObject({ code: grpc.status.OK });
    await until(() => accepted.closed !== undefined);
    expect(accepted.closed?.error).toBeUndefined();
  });

  test('our dialer talks to its server, both ways, and gets the status at the end', async () => {
    const received: Buffer[] = [];
    const port = await openServer(listenerTls, (call) => {
      call.sendMetadata(new grpc.Metadata());
      call.on('data', (frame: Buffer) => {
        received.push(frame);
        call.write(frame);
        if (received.length === SIZES.length) {
          call.emit('error', { code: grpc.status.RESOURCE_EXHAUSTED, details: 'genug für heute: 100 %' });
        }
      });
    });
    const dialed = await transports.dial(port, {
      host: 'localhost',
      ...(dialerTls && { tls: dialerTls, expectedRegion: 'us' }),
    });
    for (const size of SIZES) dialed.stream.send(patterned(size));
    await until(() => dialed.closed !== undefined);
    expectAll(received);
    expectAll(dialed.frames);
    expect(dialed.closed?.error).toMatchObject({ code: 'busy', message: 'genug für heute: 100 %' });
  });

  test('our dialer ends in peace when its server does', async () => {
    const port = await openServer(listenerTls, (call) => {
      call.sendMetadata(new grpc.Metadata());
      call.on('data', () => {}).on('end', () => call.end());
    });
    const dialed = await transports.dial(port, { host: 'localhost', ...(dialerTls && { tls: dialerTls }) });
    dialed.stream.close();
    await until(() => dialed.closed !== undefined);
    expect(dialed.closed?.error).toBeUndefined();
  });
});

test('its client gets the reason why our listener ends a stream', async () => {
  const { port } = await transports.listen({ host: 'localhost' });
  const { call, status } = openClient(port, undefined);
  call.write(patterned(1));
  await until(() => transports.accepted.length === 1);
  transports.accepted[0].stream.close('moved to another höst');
  expect(await status).toMatchObject({ code: grpc.status.UNAVAILABLE, details: 'moved to another höst' });
});

test('its client gets errors for a message that is too long and for an unknown method', async () => {
  const { port } = await transports.listen({ host: 'localhost' });
  const long = openClient(port, undefined);
  long.call.write(patterned(4 * 1024 * 1024 + 1));
  expect(await long.status).toMatchObject({
    code: grpc.status.RESOURCE_EXHAUSTED,
    details: expect.stringMatching(/at most 4194304/),
  });
  const wrong = openClient(port, undefined, '/quotadb.replication.v1.Replication/Other');
  expect(await wrong.status).toMatchObject({ code: grpc.status.UNIMPLEMENTED });
  await until(() => transports.refused.length === 1);
  expect(transports.refused[0].reason).toMatchObject({
    code: 'protocol',
    message: expect.stringMatching(/which is not there/),
  });
});

test('its client with a certificate that is not accepted gets the reason', async () => {
  const { port } = await transports.listen({ host: 'localhost', tls: us });
  const stranger = await materialOf('eu', await testAuthority());
  const { status } = openClient(port, { ...stranger, authority: us.authority });
  expect(await status).toMatchObject({
    code: grpc.status.UNAUTHENTICATED,
    details: expect.stringMatching(/of another authority/),
  });
});
