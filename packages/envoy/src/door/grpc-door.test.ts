import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ErrorCode, Flag, FrameType } from '../http2/frame.js';
import { encodeHeaders } from '../http2/header-encoder.js';
import { RawHttp2Client } from '../testing/raw-http2-client.js';
import { GrpcDoor, type GrpcDoorOptions } from './grpc-door.js';
import type { LastingMethod, Method, UnaryMethod } from './method.js';
import { withPrefix } from './unary-call.js';

const PATIENCE = { timeout: 10_000 };
const echo: UnaryMethod = { kind: 'unary', isOpen: true, answer: (message, _, done) => done(message) };
const talk: LastingMethod = {
  kind: 'lasting',
  isOpen: true,
  open: (replies) => ({
    message: (bytes) => replies.send(bytes),
    ended: () => replies.end(),
    closed: () => {},
  }),
};
const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['/echo', echo],
  ['/talk', talk],
  ['/other', { ...talk }],
]);
const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function serve(options: Partial<GrpcDoorOptions> = {}): Promise<number> {
  const onError = (error: Error) => {
    throw error;
  };
  const door = new GrpcDoor({ methods, admit: () => undefined, tls: undefined, onError, ...options });
  opened.push(door);
  return door.listen('127.0.0.1', 0);
}

class Client extends RawHttp2Client {
  constructor(port: number) {
    super(port);
    this.frame(FrameType.settings, 0, 0);
    opened.push(this);
  }

  begin(stream: number, path: string): this {
    const fields = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc' };
    return this.frame(FrameType.headers, Flag.endHeaders, stream, encodeHeaders(fields));
  }

  call(stream: number): this {
    return this.begin(stream, '/echo').frame(FrameType.data, Flag.endStream, stream, withPrefix(Buffer.from('hello')));
  }

  statusOf(stream: number): string | undefined {
    const text = this.of(FrameType.headers, stream).map(({ payload }) => payload.toString('latin1'));
    return /grpc-status.(\d+)/s.exec(text.join(''))?.[1];
  }
}

test('a door that is full ends the connection whose last call is the oldest, and not one with a call under way', async () => {
  const port = await serve({ maximumConnections: 3 });
  const [busy, idle, third] = [new Client(port), new Client(port), new Client(port)];
  await busy.begin(1, '/talk').barrier();
  await idle.call(1).barrier();
  await third.call(1).barrier();
  const newcomer = new Client(port);
  await newcomer.call(1).barrier();
  expect(newcomer.statusOf(1)).toBe('0');
  await expect.poll(() => [busy, idle, third].filter(({ isClosed }) => isClosed), PATIENCE).toHaveLength(1);
  expect(busy.isClosed).toBe(false);
  const gone = idle.isClosed ? idle : third;
  expect(await gone.errorCode()).toBe(ErrorCode.none);
});

test('calls whose messages never come do not keep whole ones out: the oldest of them are ended', async () => {
  const port = await serve({ maximumCalls: 3 });
  const [hostile, proxy] = [new Client(port), new Client(port)];
  for (const stream of [1, 3, 5, 7]) hostile.begin(stream, '/echo');
  await hostile.barrier();
  expect([hostile.statusOf(1), hostile.statusOf(3)]).toEqual(['8', undefined]);
  for (const stream of [1, 3, 5]) await proxy.call(stream).barrier();
  expect([1, 3, 5].map((stream) => proxy.statusOf(stream))).toEqual(['0', '0', '0']);
});

test('a client that asks and makes no room for replies is ended, and is not held in memory', async () => {
  const port = await serve();
  const client = new Client(port);
  const NO_WINDOW = Buffer.from('000400000000', 'hex');
  await client.frame(FrameType.settings, 0, 0, NO_WINDOW).begin(1, '/talk').barrier();
  const question = withPrefix(Buffer.alloc(4000));
  for (let count = 0; count < 100; count++) client.frame(FrameType.data, 0, 1, question);
  await client.barrier();
  expect(client.statusOf(1)).toBe('8');
});

test('calls that last of one method do not keep those of another out', async () => {
  const port = await serve();
  const [hostile, proxy] = [new Client(port), new Client(port)];
  const more = new Client(port);
  for (let count = 0; count < 1000; count++) {
    hostile.begin(2 * count + 1, '/talk');
    more.begin(2 * count + 1, '/talk');
  }
  await hostile.barrier();
  await more.barrier();
  await proxy.begin(1, '/talk').begin(3, '/other').barrier();
  expect([proxy.statusOf(1), proxy.statusOf(3)]).toEqual(['8', undefined]);
});

test('a client that never ends its handshake of TLS does not keep its connection', async () => {
  const socket = connect(await serve({ tls: { handshakeTimeout: 50 } }), '127.0.0.1');
  opened.push({ close: () => socket.destroy() });
  socket.resume();
  await once(socket, 'close');
});
