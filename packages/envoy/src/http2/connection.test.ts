import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { REQUEST_HEADERS as HEADERS, RawHttp2Client } from '../testing/raw-http2-client.js';
import { CONTROL_FRAMES_PER_REPLY, MAXIMUM_CONTROL_FRAMES, MAXIMUM_STREAMS } from './bounds.js';
import { Http2Connection } from './connection.js';
import { ErrorCode, Flag, FrameType } from './frame.js';
import { encodeHeaders } from './header-encoder.js';
import type { RequestHeaders } from './request-headers.js';
import { Http2Stream } from './stream.js';

const PATIENCE = { timeout: 10_000 };
const HEADERS_OK = encodeHeaders({ ':status': '200' });
const TRAILERS = encodeHeaders({ status: '0' });
const opened: { close(): void }[] = [];

afterEach(() => {
  for (const each of opened.splice(0).reverse()) each.close();
});

type Handle = (stream: Http2Stream, headers: RequestHeaders) => void;

/** A server whose streams `handle` answers, and the connections that it has had. */
async function serve(
  handle: Handle,
): Promise<{ port: number; connections: Http2Connection[]; closings: () => number }> {
  const connections: Http2Connection[] = [];
  let closings = 0;
  const server = createServer((socket) => {
    connections.push(
      new Http2Connection(socket, {
        onStream: handle,
        onClose: () => closings++,
        onError: (error) => {
          throw error;
        },
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    close: () => {
      server.close();
      for (const connection of connections) connection.destroy();
    },
  });
  return { port: (server.address() as AddressInfo).port, connections, closings: () => closings };
}

/** Answers every request, when it is whole, with its own bytes. */
const echo: Handle = (stream) => {
  const chunks: Buffer[] = [];
  stream.receiver = {
    data: (chunk) => chunks.push(chunk),
    ended: () => {
      stream.respond(HEADERS_OK);
      stream.send(Buffer.concat(chunks));
      stream.end(TRAILERS);
    },
    closed: () => {},
  };
};

function rawClient(port: number): RawHttp2Client {
  const client = new RawHttp2Client(port);
  opened.push(client);
  return client;
}

function setting(name: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(name);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

describe('with the client of node:http2, another implementation', () => {
  async function open(handle: Handle): Promise<ClientHttp2Session> {
    const session = connectHttp2(`http://127.0.0.1:${(await serve(handle)).port}`);
    opened.push({ close: () => session.destroy() });
    return session;
  }

  test('header fields are read as they were sent, whatever they are and whatever the tables have kept', async () => {
    const seen: (string | undefined)[] = [];
    const session = await open((stream, headers) => {
      seen.push(headers.path, headers.authorization);
      stream.respondOnly(HEADERS_OK);
    });
    let seed = 11;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const text = (length: number) =>
      Array.from({ length }, () => String.fromCharCode(random(8) === 0 ? 0xa1 + random(94) : 0x21 + random(94))).join(
        '',
      );
    const known = Array.from({ length: 20 }, () => text(1 + random(300)));
    const sent: string[] = [];
    for (let round = 0; round < 400; round++) {
      const authorization = random(2) === 0 ? known[random(known.length)] : text(1 + random(600));
      const path = `/${random(2) === 0 ? text(random(40)).replaceAll(/[^\w]/g, 'x') : 'same'}`;
      const request = session.request({
        ':method': 'POST',
        ':path': path,
        authorization,
        [`x-${random(50)}`]: text(30),
      });
      request.resume();
      request.end();
      sent.push(path, authorization);
      if (round % 10 === 9) await once(request, 'close');
    }
    expect(seen).toEqual(sent);
  });

  test('bodies and replies of any size come whole through windows of any size', async () => {
    const session = await open(echo);
    const bodies = [0, 1, 16_384, 16_385, 65_535, 65_536, 300_000].map((length) => Buffer.alloc(length, `${length}`));
    const replies = await Promise.all(
      bodies.map(async (body) => {
        const request = session.request({ ':method': 'POST', ':path': '/' });
        request.end(body);
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        return Buffer.concat(chunks);
      }),
    );
    for (const [index, reply] of replies.entries()) expect(reply.equals(bodies[index])).toBe(true);
  });

  test('after close() open streams end, others are refused, and the connection ends', async () => {
    const streams: Http2Stream[] = [];
    const { port, connections } = await serve((stream) => streams.push(stream));
    const client = rawClient(port);
    client.request(1).send();
    await client.barrier();
    connections[0].close();
    client.request(3);
    await client.barrier();
    expect(client.of(FrameType.reset, 3)[0].payload.readUInt32BE()).toBe(ErrorCode.refusedStream);
    expect(client.isClosed).toBe(false);
    streams[0].respondOnly(HEADERS_OK);
    await expect.poll(() => client.isClosed, PATIENCE).toBe(true);
    expect(client.hasAnswer(1)).toBe(true);
    expect(await client.errorCode()).toBe(ErrorCode.none);
  });
});

test('frames that arrive byte by byte are the same frames', async () => {
  const client = rawClient((await serve(echo)).port);
  client.socket.setNoDelay(true);
  client.frame(FrameType.settings, 0, 0).request(1, Buffer.from('slowly'));
  for (const byte of client.writer.take()) {
    client.socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  await client.barrier();
  expect(client.body(1).toString()).toBe('slowly');
});

test('padding, priorities, continuations and unknown frames are understood', async () => {
  const client = rawClient((await serve(echo)).port);
  const padded = (payload: Buffer) => Buffer.concat([Buffer.of(3), payload, Buffer.alloc(3)]);
  client.frame(0xbe, 0xff, 1, Buffer.from('unknown'));
  client.frame(FrameType.priority, 0, 9, Buffer.alloc(5));
  const withPriority = padded(Buffer.concat([Buffer.alloc(5), HEADERS.subarray(0, 4)]));
  client.frame(FrameType.headers, Flag.padded | Flag.priority, 1, withPriority);
  client.frame(FrameType.continuation, 0, 1, HEADERS.subarray(4, 7));
  client.frame(FrameType.continuation, Flag.endHeaders, 1, HEADERS.subarray(7));
  client.frame(FrameType.data, Flag.padded, 1, padded(Buffer.from('bo')));
  client.frame(FrameType.data, 0, 1, Buffer.from('dy'));
  client.frame(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, TRAILERS);
  await client.barrier();
  expect([client.body(1).toString(), client.hasAnswer(1)]).toEqual(['body', true]);
});

test('a reply waits for the windows of its stream and of the connection, and comes in pieces as they grow', async () => {
  const client = rawClient((await serve(echo)).port);
  const INITIAL_WINDOW = 4;
  client.frame(FrameType.settings, 0, 0, setting(INITIAL_WINDOW, 10)).request(1, Buffer.from('0123456789abcdef'));
  await client.barrier();
  expect([client.body(1).toString(), client.hasAnswer(1)]).toEqual(['0123456789', false]);
  client.windowUpdate(1, 2);
  await client.barrier();
  expect([client.body(1).toString(), client.hasAnswer(1)]).toEqual(['0123456789ab', false]);
  // Smaller windows hold for open streams too: this one has 5 bytes less than none.
  client.frame(FrameType.settings, 0, 0, setting(INITIAL_WINDOW, 5)).windowUpdate(1, 5);
  await client.barrier();
  expect(client.hasAnswer(1)).toBe(false);
  client.windowUpdate(1, 4);
  await client.barrier();
  expect([client.body(1).toString(), client.hasAnswer(1)]).toEqual(['0123456789abcdef', true]);
  client.frame(FrameType.settings, 0, 0, setting(INITIAL_WINDOW, 200_000));
  const large = Buffer.alloc(16_000, 'x');
  for (let stream = 3; stream <= 11; stream += 2) client.request(stream, large);
  await client.barrier();
  expect(client.hasAnswer(11)).toBe(false);
  client.windowUpdate(0, 100_000);
  await client.barrier();
  for (let stream = 3; stream <= 11; stream += 2) expect(client.body(stream).equals(large)).toBe(true);
  expect(client.hasAnswer(11)).toBe(true);
});

test('a response before the end of its request cuts the request off, and what is on its way does no harm', async () => {
  const client = rawClient((await serve((stream) => stream.respondOnly(HEADERS_OK))).port);
  client.frame(FrameType.headers, Flag.endHeaders, 1, HEADERS);
  for (let count = 0; count < 20; count++) client.frame(FrameType.data, 0, 1, Buffer.alloc(3000));
  client.frame(FrameType.headers, Flag.endHeaders | Flag.endStream, 1, TRAILERS);
  client.windowUpdate(1, 5).frame(FrameType.reset, 0, 1, Buffer.alloc(4));
  await client.barrier();
  expect([client.hasAnswer(1), client.of(FrameType.reset, 1)[0].payload.readUInt32BE()]).toEqual([
    true,
    ErrorCode.none,
  ]);
  expect(client.of(FrameType.windowUpdate, 0)).toHaveLength(1);
});

describe('a client that breaks a rule is told which, and its connection ends', () => {
  const data = (length: number) => Buffer.alloc(length);
  test.each<[string, number, (client: RawHttp2Client) => unknown]>([
    ['a frame that is too long', ErrorCode.frameSize, (client) => client.frame(FrameType.data, 0, 1, data(16_385))],
    [
      'data of a stream that has not begun',
      ErrorCode.protocol,
      (client) => client.frame(FrameType.data, 0, 1, data(1)),
    ],
    ['data of no stream', ErrorCode.protocol, (client) => client.frame(FrameType.data, 0, 0, data(1))],
    ['an even stream', ErrorCode.protocol, (client) => client.request(2)],
    ['a continuation of nothing', ErrorCode.protocol, (client) => client.frame(FrameType.continuation, 0, 1)],
    [
      'another frame inside a header block',
      ErrorCode.protocol,
      (client) => client.frame(FrameType.headers, 0, 1, HEADERS).frame(FrameType.ping, 0, 0, data(8)),
    ],
    [
      'a header block without end',
      ErrorCode.enhanceYourCalm,
      (client) => {
        client.frame(FrameType.headers, 0, 1);
        for (let count = 0; count < 100; count++) client.frame(FrameType.continuation, 0, 1);
      },
    ],
    [
      'headers in the middle of a request',
      ErrorCode.protocol,
      (client) =>
        client
          .frame(FrameType.headers, Flag.endHeaders, 1, HEADERS)
          .frame(FrameType.headers, Flag.endHeaders, 1, HEADERS),
    ],
    [
      'more padding than payload',
      ErrorCode.protocol,
      (client) => client.frame(FrameType.headers, Flag.endHeaders | Flag.padded, 1, Buffer.of(9, 1)),
    ],
    [
      'a header block of nonsense',
      ErrorCode.compression,
      (client) => client.frame(FrameType.headers, 4, 1, Buffer.of(0x80)),
    ],
    ['a push', ErrorCode.protocol, (client) => client.frame(FrameType.pushPromise, 4, 1, data(4))],
    ['a ping of 7 bytes', ErrorCode.frameSize, (client) => client.frame(FrameType.ping, 0, 0, data(7))],
    ['settings of 5 bytes', ErrorCode.frameSize, (client) => client.frame(FrameType.settings, 0, 0, data(5))],
    ['settings of a stream', ErrorCode.protocol, (client) => client.frame(FrameType.settings, 0, 1)],
    [
      'a window of 2 GiB in settings',
      ErrorCode.flowControl,
      (client) => client.frame(FrameType.settings, 0, 0, setting(4, 2 ** 31)),
    ],
    ['a window that grows by 0', ErrorCode.protocol, (client) => client.windowUpdate(0, 0)],
    ['a window that overflows', ErrorCode.flowControl, (client) => client.windowUpdate(0, 2 ** 31 - 1)],
  ])('%s', async (_, code, breakRule) => {
    const client = rawClient((await serve(echo)).port);
    breakRule(client);
    client.send();
    expect(await client.errorCode()).toBe(code);
    await expect.poll(() => client.isClosed, PATIENCE).toBe(true);
  });

  test.each<[string, (client: RawHttp2Client, stream: number) => unknown]>([
    [
      'resets of calls that it has just begun',
      (client, stream) =>
        client.frame(FrameType.headers, Flag.endHeaders, stream, HEADERS).frame(FrameType.reset, 0, stream, data(4)),
    ],
    ['pings', (client) => client.frame(FrameType.ping, 0, 0, data(8))],
    ['settings', (client) => client.frame(FrameType.settings, 0, 0)],
    ['priorities', (client, stream) => client.frame(FrameType.priority, 0, stream, data(5))],
    [
      'padding',
      (client, stream) =>
        (stream === 1 ? client.frame(FrameType.headers, Flag.endHeaders, 1, HEADERS) : client).frame(
          FrameType.data,
          Flag.padded,
          1,
          data(1),
        ),
    ],
    [
      'data for a call that is over',
      (client, stream) => (stream === 1 ? client.request(1) : client).frame(FrameType.data, 0, 1, data(1)),
    ],
  ])('a flood of %s', async (_, add) => {
    const client = rawClient((await serve(echo)).port);
    for (let count = 0; count <= MAXIMUM_CONTROL_FRAMES + CONTROL_FRAMES_PER_REPLY; count++) add(client, 2 * count + 1);
    client.send();
    expect(await client.errorCode()).toBe(ErrorCode.enhanceYourCalm);
  });
});

test('more streams than allowed are refused, and may be tried again', async () => {
  const streams: Http2Stream[] = [];
  const client = rawClient((await serve((stream) => streams.push(stream))).port);
  for (let count = 0; count <= MAXIMUM_STREAMS; count++) client.request(2 * count + 1);
  await client.barrier();
  const refused = client.of(FrameType.reset);
  expect(refused.map(({ stream, payload }) => [stream, payload.readUInt32BE()])).toEqual([
    [2 * MAXIMUM_STREAMS + 1, ErrorCode.refusedStream],
  ]);
  streams[0].respondOnly(HEADERS_OK);
  client.request(2 * MAXIMUM_STREAMS + 3);
  await client.barrier();
  expect([streams.length, client.hasAnswer(1)]).toEqual([MAXIMUM_STREAMS + 1, true]);
});

test('calls that their client resets are closed once, and are not answered', async () => {
  let closings = 0;
  const streams: Http2Stream[] = [];
  const client = rawClient(
    (
      await serve((stream) => {
        streams.push(stream);
        stream.receiver = { data: () => {}, ended: () => {}, closed: () => closings++ };
      })
    ).port,
  );
  client.request(1).frame(FrameType.reset, 0, 1, Buffer.alloc(4)).frame(FrameType.reset, 0, 1, Buffer.alloc(4));
  await client.barrier();
  streams[0].respond(HEADERS_OK);
  streams[0].send(Buffer.from('late'));
  streams[0].end(TRAILERS);
  await client.barrier();
  expect([closings, client.of(FrameType.headers)]).toEqual([1, []]);
});

test.each<[string, (client: RawHttp2Client) => unknown]>([
  ['the connection byte by byte', (client) => client.windowUpdate(0, 1)],
  [
    'settings again and again',
    (client) => client.frame(FrameType.settings, 0, 0, Buffer.concat([setting(4, 1), setting(4, 0)])),
  ],
])('a client that opens the windows of %s does not have every waiting reply looked at', async (_, open) => {
  const client = rawClient((await serve(echo)).port);
  client.frame(FrameType.settings, 0, 0, setting(4, 0));
  for (let count = 0; count < 200; count++) client.request(2 * count + 1, Buffer.from('x'));
  await client.barrier();
  const pump = vi.spyOn(Http2Stream.prototype, 'pump');
  for (let count = 0; count < 100; count++) open(client);
  await client.barrier();
  expect(pump).not.toHaveBeenCalled();
  pump.mockRestore();
  client.frame(FrameType.settings, 0, 0, setting(4, 10));
  await client.barrier();
  for (let count = 0; count < 200; count++) expect(client.hasAnswer(2 * count + 1)).toBe(true);
});

test('replies that the connection holds back come in turn when it opens', async () => {
  const client = rawClient((await serve(echo)).port);
  client.frame(FrameType.settings, 0, 0, setting(4, 2 ** 30));
  const streams = Array.from({ length: 8 }, (_, index) => 2 * index + 1);
  for (const stream of streams) client.request(stream, Buffer.alloc(16_000, 'x'));
  await client.barrier();
  expect(client.hasAnswer(15)).toBe(false);
  for (let opened = 65_535; opened < 128_000; opened += 20_000) client.windowUpdate(0, 20_000);
  await client.barrier();
  for (const stream of streams) expect(client.body(stream)).toHaveLength(16_000);
});

test('a header block that is begun and not ended is given up after a while', async () => {
  const { port, connections } = await serve(echo);
  const client = rawClient(port);
  client.frame(FrameType.ping, 0, 0, Buffer.alloc(8)).frame(FrameType.headers, 0, 1, HEADERS.subarray(0, 4)).send();
  await expect.poll(() => client.of(FrameType.ping).length, PATIENCE).toBe(1);
  const laterMs = performance.now() + 20_000;
  for (const connection of connections) connection.sweep(laterMs, laterMs - 10_000);
  await expect.poll(() => client.isClosed, PATIENCE).toBe(true);
});

test('a client that opens no window is given up after a while, and one that does is not', async () => {
  const { port, connections } = await serve(echo);
  const [silent, alive] = [rawClient(port), rawClient(port)];
  silent.frame(FrameType.settings, 0, 0, setting(4, 0)).request(1, Buffer.from('unread'));
  alive.request(1, Buffer.from('read'));
  await silent.barrier();
  await alive.barrier();
  const laterMs = performance.now() + 20_000;
  for (const connection of connections) connection.sweep(laterMs, laterMs - 10_000);
  await expect.poll(() => silent.isClosed, PATIENCE).toBe(true);
  await alive.barrier();
});

test('a client that does not read is given up after a while, also when its connection has failed already', async () => {
  const { port, connections, closings } = await serve(echo);
  const [deaf, broken] = [rawClient(port), rawClient(port)];
  for (const client of [deaf, broken]) {
    client.socket.pause();
    client.frame(FrameType.settings, 0, 0, setting(4, 2 ** 30)).windowUpdate(0, 2 ** 30);
    // More than the buffers of both sockets hold.
    for (let stream = 1; stream < 1500; stream += 2) client.request(stream, Buffer.alloc(16_000));
  }
  broken.frame(FrameType.ping, 0, 0, Buffer.alloc(7));
  deaf.send();
  broken.send();
  await expect.poll(() => connections.map(({ waitingBytes }) => waitingBytes > 0), PATIENCE).toEqual([true, true]);
  let nowMs = performance.now();
  const sweepLater = () => {
    nowMs += 20_000;
    for (const connection of connections) connection.sweep(nowMs, nowMs - 10_000);
    return closings();
  };
  await expect.poll(sweepLater, PATIENCE).toBe(2);
});
