import { once } from 'node:events';
import { connect } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { RawHttp2Client } from '../testing/raw-http2-client.js';
import { Http2Connection } from './connection.js';
import { FrameType } from './frame.js';
import { encodeHeaders } from './header-encoder.js';

const HEADERS_OK = encodeHeaders({ ':status': '200' });
const TRAILERS = encodeHeaders({ 'grpc-status': '0' });
const opened: { close(): void }[] = [];

afterEach(() => {
  for (const each of opened.splice(0).reverse()) each.close();
});

async function serve(): Promise<{ port: number; connections: Http2Connection[] }> {
  const connections: Http2Connection[] = [];
  const server = createServer((socket) => {
    const onStream: ConstructorParameters<typeof Http2Connection>[1]['onStream'] = (stream) => {
      stream.respond(HEADERS_OK);
      stream.end(TRAILERS);
    };
    const onError = (error: Error) => {
      throw error;
    };
    connections.push(new Http2Connection(socket, { onStream, onClose: () => {}, onError }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    close: () => {
      server.close();
      for (const connection of connections) connection.destroy();
    },
  });
  return { port: (server.address() as AddressInfo).port, connections };
}

test.each([0, 100, 4095, 65_536])(
  'a client whose table of header fields has %i bytes reads every reply',
  async (headerTableSize) => {
    const session = connect(`http://127.0.0.1:${(await serve()).port}`, { settings: { headerTableSize } });
    opened.push({ close: () => session.destroy() });
    // From here on the smaller table holds for the client.
    await once(session, 'localSettings');
    for (let count = 0; count < 3; count++) {
      const request = session.request({ ':method': 'POST', ':path': '/' });
      const trailers = once(request, 'trailers');
      request.resume();
      request.end();
      expect((await trailers)[0]).toMatchObject({ 'grpc-status': '0' });
    }
  },
);

test('a frame that is begun and not ended is given up after a while, and not one that goes on', async () => {
  const { port, connections } = await serve();
  const [silent, alive] = [new RawHttp2Client(port), new RawHttp2Client(port)];
  opened.push(silent, alive);
  await silent.barrier();
  await alive.barrier();
  // A frame of an unknown type, of which half comes, and its end.
  silent.socket.write(Buffer.from('000004be0000000000aabb', 'hex'));
  alive.socket.write(Buffer.from('000004be0000000000aabb', 'hex'));
  alive.socket.write(Buffer.from('ccdd', 'hex'));
  await alive.barrier();
  silent.socket.write(Buffer.from('cc', 'hex'));
  let nowMs = performance.now();
  const sweepLater = () => {
    nowMs += 20_000;
    for (const connection of connections) connection.sweep(nowMs, nowMs - 10_000);
    return silent.isClosed;
  };
  await expect.poll(sweepLater, { timeout: 10_000 }).toBe(true);
  await alive.barrier();
  expect(alive.of(FrameType.goAway)).toEqual([]);
});
