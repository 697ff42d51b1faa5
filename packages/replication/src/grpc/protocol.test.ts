import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { afterEach, expect, test, vi } from 'vitest';
import { CONTENT_TYPE, EXCHANGE_PATH } from './protocol.js';
import { decodeMessage, encodeMessage } from './status.js';
import { Transports } from './testing/transports.js';

const transports = new Transports();
afterEach(async () => {
  await transports.close();
  transports.accepted.length = 0;
  transports.refused.length = 0;
});

const request = { ':method': 'POST', ':path': EXCHANGE_PATH, 'content-type': CONTENT_TYPE, te: 'trailers' };

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
}

/** What a client that is not ours gets back. */
async function ask(port: number, headers: OutgoingHttpHeaders, chunks: readonly Uint8Array[]): Promise<Answer> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const stream = session.request(headers);
  let trailers: IncomingHttpHeaders = {};
  stream.on('trailers', (received) => {
    trailers = received;
  });
  stream.on('error', () => {}).resume();
  const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
  for (const chunk of chunks) stream.write(chunk);
  const closed = new Promise((resolve) => stream.once('close', resolve));
  const response = await answered;
  if (!stream.endAfterHeaders && chunks.length > 0) await new Promise((resolve) => stream.once('end', resolve));
  stream.end();
  await closed;
  session.destroy();
  return { headers: response, trailers };
}

test.each<[string, OutgoingHttpHeaders, object, RegExp]>([
  ['another method', { ...request, ':method': 'GET' }, { ':status': 405 }, /the method GET instead of POST/],
  [
    'another content type',
    { ...request, 'content-type': 'application/json' },
    { ':status': 415 },
    /the content type application\/json/,
  ],
  ['no content type', { ':method': 'POST', ':path': EXCHANGE_PATH }, { ':status': 415 }, /is missing/],
  [
    'gRPC with something else than protobuf',
    { ...request, 'content-type': 'application/grpc+json' },
    { ':status': 415 },
    /grpc\+json/,
  ],
  [
    'another call',
    { ...request, ':path': '/grpc.health.v1.Health/Check' },
    { ':status': 200, 'grpc-status': '12' },
    /Health\/Check, which is not there/,
  ],
  [
    'compressed messages',
    { ...request, 'grpc-encoding': 'gzip' },
    { ':status': 200, 'grpc-status': '12' },
    /compressed with gzip/,
  ],
])('%s is rejected and counted, and other peers are not affected', async (_, headers, expected, message) => {
  const { port } = await transports.listen();
  const other = await transports.dial(port);
  expect((await ask(port, headers, [])).headers).toMatchObject(expected);
  expect(transports.refused).toMatchObject([{ reason: { code: 'protocol', message: expect.stringMatching(message) } }]);
  other.stream.send(Uint8Array.of(1));
  await vi.waitUntil(() => transports.accepted[0].frames.length === 1);
});

test.each<[string, Uint8Array[], string, RegExp]>([
  ['a message with the compressed flag', [Uint8Array.of(1, 0, 0, 0, 1, 0)], '13', /compression is not supported/],
  ['a message that is too long', [Uint8Array.of(0, 0x7f, 0xff, 0xff, 0xff)], '8', /2147483647 bytes: at most/],
])('%s ends the stream with a status', async (_, chunks, status, message) => {
  const { port } = await transports.listen();
  const { headers, trailers } = await ask(port, request, chunks);
  expect(headers).toMatchObject({ ':status': 200, 'content-type': CONTENT_TYPE });
  expect(trailers['grpc-status']).toBe(status);
  expect(decodeMessage(String(trailers['grpc-message']))).toMatch(message);
  await vi.waitUntil(() => transports.accepted[0].closed !== undefined);
  expect(transports.accepted[0].closed?.error).toMatchObject({
    code: 'protocol',
    message: expect.stringMatching(message),
  });
});

test('a peer that stops in the middle of a message ends with an error', async () => {
  const { port } = await transports.listen();
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request(request);
  stream.resume().end(Uint8Array.of(0, 0, 0, 0, 9, 1, 2));
  await vi.waitUntil(() => transports.accepted[0]?.closed !== undefined);
  expect(transports.accepted[0].closed?.error?.message).toBe('the stream ended in the middle of a message');
  session.destroy();
});

test('content type and path as other gRPC implementations write them are accepted', async () => {
  const { port } = await transports.listen();
  for (const type of ['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8']) {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ...request, 'content-type': type, 'grpc-encoding': 'identity' });
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    expect(headers).toMatchObject({ ':status': 200 });
    stream.end();
    session.destroy();
  }
});

test('a frame that is too long is not even sent', async () => {
  const { port } = await transports.listen();
  const dialed = await transports.dial(port);
  expect(() => dialed.stream.send(new Uint8Array(MAXIMUM_FRAME_BYTES + 1))).toThrow(/too long/);
});

test('messages of a status survive whatever is in them', () => {
  for (const message of ['plain', '100 % ünïcode\n\0', '%zz', 'a%41']) {
    expect(decodeMessage(encodeMessage(message))).toBe(message);
    expect(encodeMessage(message)).toMatch(/^[\x20-\x7e]*$/);
  }
  expect(decodeMessage('%zz')).toBe('%zz');
});
