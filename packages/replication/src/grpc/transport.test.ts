import { connect } from 'node:net';
import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { QUEUE_BYTES } from './bounds.js';
import { dial } from './dial.js';
import { Transports, until } from './testing/transports.js';

const transports = new Transports();
afterEach(async () => {
  await transports.close();
  transports.accepted.length = 0;
  transports.refused.length = 0;
});

function patterned(length: number, seed: number): Uint8Array {
  return new Uint8Array(length).map((_, at) => (at * 31 + seed) & 255);
}

test('frames of every size arrive whole, in order, in both directions at once', async () => {
  const { port } = await transports.listen();
  const dialed = await transports.dial(port);
  await until(() => transports.accepted.length === 1);
  const [accepted] = transports.accepted;
  const sizes = [0, 1, 5, 16_383, 16_384, 16_385, 65_535, 65_536, 1_000_000, MAXIMUM_FRAME_BYTES, 3];
  for (const [seed, size] of sizes.entries()) {
    dialed.stream.send(patterned(size, seed));
    accepted.stream.send(patterned(size, seed + 100));
  }
  await until(() => accepted.frames.length === sizes.length && dialed.frames.length === sizes.length);
  for (const [seed, size] of sizes.entries()) {
    expect(Buffer.compare(accepted.frames[seed], patterned(size, seed))).toBe(0);
    expect(Buffer.compare(dialed.frames[seed], patterned(size, seed + 100))).toBe(0);
  }
  const bytes = sizes.reduce((total, size) => total + size + 5, 0);
  expect(accepted.stream.bytesReceived).toBe(bytes);
  await until(() => dialed.stream.bytesSent === bytes);
  expect([dialed.stream.isDialed, accepted.stream.isDialed]).toEqual([true, false]);
  expect(dialed.stream.remoteAddress).toBe(`127.0.0.1:${port}`);
  expect(accepted.stream.remoteAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(transports.refused).toEqual([]);
});

describe('closing', () => {
  test.each(['dialed', 'accepted'] as const)(
    'what was sent before the %s side closes still arrives, and both end in peace',
    async (who) => {
      const { port } = await transports.listen();
      const dialed = await transports.dial(port);
      await until(() => transports.accepted.length === 1);
      const [accepted] = transports.accepted;
      const [closer, other] = who === 'dialed' ? [dialed, accepted] : [accepted, dialed];
      for (let index = 0; index < 20; index++) closer.stream.send(patterned(100_000, index));
      closer.stream.close();
      closer.stream.send(patterned(1, 1));
      await until(() => closer.closed !== undefined && other.closed !== undefined);
      expect(other.frames).toHaveLength(20);
      expect([closer.closed?.error, other.closed?.error]).toEqual([undefined, undefined]);
      expect(closer.stream.isWritable).toBe(false);
    },
  );

  test('the listening side sends the reason why it closes', async () => {
    const { port } = await transports.listen();
    const dialed = await transports.dial(port);
    await until(() => transports.accepted.length === 1);
    transports.accepted[0].stream.close('ünder maintenance, 100 %');
    await until(() => dialed.closed !== undefined);
    expect(dialed.closed?.error).toMatchObject({ code: 'ended', message: 'ünder maintenance, 100 %' });
  });

  test('a listener that closes ends its streams, and refuses connections', async () => {
    const { listener, port } = await transports.listen();
    const dialed = await transports.dial(port);
    await listener.close();
    await until(() => dialed.closed !== undefined);
    expect(dialed.closed?.error?.message).toBe('this replica is shutting down');
    expect(await transports.failure(port)).toMatchObject({
      code: 'unreachable',
      message: `connection refused: no server listens at 127.0.0.1:${port}`,
    });
  });

  test('nothing is received any more once this side has closed', async () => {
    const { port } = await transports.listen();
    const dialed = await transports.dial(port);
    await until(() => transports.accepted.length === 1);
    const [accepted] = transports.accepted;
    accepted.stream.onFrame = () => {
      accepted.frames.push(new Uint8Array(0));
      accepted.stream.close();
    };
    for (let index = 0; index < 10; index++) dialed.stream.send(patterned(10, index));
    await until(() => accepted.closed !== undefined);
    expect(accepted.frames).toHaveLength(1);
  });
});

describe('a network that is slow or gone', () => {
  test.each(['toListener', 'toDialer'] as const)(
    'megabytes are under way %s before the first acknowledgement comes back',
    async (direction) => {
      const { port } = await transports.listen();
      const proxy = await transports.proxy(port);
      proxy.toListener.delayMs = 50;
      proxy.toDialer.delayMs = 50;
      const dialed = await transports.dial(proxy.port);
      await until(() => transports.accepted.length === 1);
      const [accepted] = transports.accepted;
      const [sender, receiver] = direction === 'toListener' ? [dialed, accepted] : [accepted, dialed];
      // The windows were sent with the first bytes; an answer to one frame shows that they have arrived.
      receiver.stream.send(patterned(1, 0));
      sender.stream.send(patterned(1, 0));
      await until(() => sender.frames.length === 1 && receiver.frames.length === 1);
      (direction === 'toListener' ? proxy.toDialer : proxy.toListener).hold();
      for (let index = 0; index < 12; index++) sender.stream.send(patterned(1_000_000, index));
      await until(() => receiver.receivedBytes > 12_000_000);
      expect(receiver.frames).toHaveLength(13);
    },
  );

  test('a stream whose peer does not read is not writable, keeps its frames, and reports when it is again', async () => {
    const { port } = await transports.listen();
    const proxy = await transports.proxy(port);
    const dialed = await transports.dial(proxy.port);
    proxy.stopReading();
    let sent = 0;
    // The system takes some of it.
    await until(() => {
      for (let index = 0; index < 10 && dialed.stream.isWritable; index++)
        dialed.stream.send(patterned(100_000, sent++));
      return !dialed.stream.isWritable;
    });
    expect(sent * 100_005).toBeGreaterThanOrEqual(QUEUE_BYTES);
    expect(dialed.drains).toBe(0);
    proxy.resumeReading();
    await until(() => dialed.drains > 0);
    expect(dialed.stream.isWritable).toBe(true);
    await until(() => transports.accepted[0].frames.length === sent);
  });

  test('a sender that goes on while its peer does not read loses the stream, not the memory', async () => {
    const { port } = await transports.listen();
    const proxy = await transports.proxy(port);
    const dialed = await transports.dial(proxy.port);
    proxy.stopReading();
    const frame = patterned(4_000_000, 1);
    for (let index = 0; index < 30 && dialed.closed === undefined; index++) dialed.stream.send(frame);
    await until(() => dialed.closed !== undefined);
    expect(dialed.closed?.error).toMatchObject({ code: 'busy' });
    expect(dialed.closed?.error?.message).toMatch(/does not read/);
  });

  test('a peer that is silently gone is noticed by both sides', async () => {
    const keepalive = { intervalMs: 20, timeoutMs: 100 };
    const { port } = await transports.listen({ keepalive });
    const proxy = await transports.proxy(port);
    const dialed = await transports.dial(proxy.port, { keepalive });
    await until(() => transports.accepted.length === 1);
    proxy.toDialer.hold();
    proxy.toListener.hold();
    await until(() => dialed.closed !== undefined && transports.accepted[0].closed !== undefined);
    for (const side of [dialed, transports.accepted[0]]) expect(side.closed?.error).toMatchObject({ code: 'silent' });
  });

  test('a stream without frames stays open while the peer is there', async () => {
    // Rather many intervals: on a busy machine an answer takes some of them.
    const keepalive = { intervalMs: 10, timeoutMs: 1000 };
    const { port } = await transports.listen({ keepalive });
    const proxy = await transports.proxy(port);
    const dialed = await transports.dial(proxy.port, { keepalive });
    const before = proxy.toListener.received;
    // More keepalives, of seventeen bytes each in both directions, than it takes to lose patience.
    await until(() => proxy.toListener.received > before + 17 * 2 * 150);
    expect([dialed.closed, transports.accepted[0].closed]).toEqual([undefined, undefined]);
  });

  test('a connection that breaks ends both sides with an error', async () => {
    const { port } = await transports.listen();
    const proxy = await transports.proxy(port);
    const dialed = await transports.dial(proxy.port);
    await until(() => transports.accepted.length === 1);
    await proxy.close();
    await until(() => dialed.closed !== undefined && transports.accepted[0].closed !== undefined);
    for (const side of [dialed, transports.accepted[0]]) expect(side.closed?.error).toMatchObject({ code: 'ended' });
  });
});

describe('dialing', () => {
  test('a listener that accepts and never answers is given up', async () => {
    const { port } = await transports.listen();
    const proxy = await transports.proxy(port);
    proxy.toDialer.hold();
    expect(await transports.failure(proxy.port, { timeoutMs: 50 })).toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/no answer from .* within 50 ms/),
    });
  });

  test('an attempt that was cancelled is never heard of again', async () => {
    const { port } = await transports.listen();
    const never = vi.fn();
    const cancel = dial({ host: '127.0.0.1', port, timeoutMs: 1, onStream: never, onFailed: never });
    cancel();
    await transports.dial(port);
    await until(() => transports.accepted.length >= 1);
    expect(never).not.toHaveBeenCalled();
  });

  test('a host that does not exist is reported as such', async () => {
    expect(await transports.failure(1, { host: 'replica.invalid' })).toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/replica\.invalid:1/),
    });
  });
});

describe('listening', () => {
  test('a connection that opens no stream is closed', async () => {
    const { port } = await transports.listen({ openingMs: 30 });
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect(transports.refused).toMatchObject([
      { reason: { code: 'silent', message: 'no stream was opened within 30 ms' } },
    ]);
  });

  test('pending connections are bounded; those with a stream are not counted', async () => {
    const { port } = await transports.listen({ maximumPendingConnections: 2 });
    await transports.dial(port);
    await transports.dial(port);
    const waiting = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    await Promise.all(waiting.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
    expect(await transports.failure(port)).toMatchObject({ code: expect.stringMatching(/ended|unreachable/) });
    expect(transports.refused).toMatchObject([
      { reason: { code: 'busy', message: '2 connections are pending already' } },
    ]);
    for (const socket of waiting) socket.destroy();
    await until(() => transports.refused.length === 3);
    await transports.dial(port);
  });

  test('open streams are bounded, and one too many is refused with the reason', async () => {
    const { port } = await transports.listen({ maximumStreams: 1 });
    const first = await transports.dial(port);
    expect(await transports.failure(port)).toMatchObject({
      code: 'busy',
      message: expect.stringMatching(/there are 1 streams already/),
    });
    expect(transports.refused).toMatchObject([{ reason: { code: 'busy' } }]);
    first.stream.close();
    await until(() => transports.accepted[0].closed !== undefined);
    await transports.dial(port);
  });

  test('a port that is taken is an error of listen', async () => {
    const { port } = await transports.listen();
    await expect(transports.listen({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('a peer that closes early, or speaks another protocol, is refused and does no harm', async () => {
    const { port } = await transports.listen();
    const dialed = await transports.dial(port);
    const http1 = connect(port, '127.0.0.1', () => http1.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    await new Promise((resolve) =>
      http1
        .on('error', () => {})
        .resume()
        .once('close', resolve),
    );
    await until(() => transports.refused.length === 1);
    expect(transports.refused[0].reason).toMatchObject({
      code: 'protocol',
      message: expect.stringMatching(/does not speak HTTP\/2/),
    });
    const quiet = connect(port, '127.0.0.1', () => quiet.destroy());
    await until(() => transports.refused.length === 2);
    expect(transports.refused[1].reason).toMatchObject({
      code: 'ended',
      message: expect.stringMatching(/closed the connection before any request: does it expect TLS/),
    });
    dialed.stream.send(patterned(10, 1));
    await until(() => transports.accepted[0].frames.length === 1);
  });
});
