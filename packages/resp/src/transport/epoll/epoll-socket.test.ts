import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { FakeSocket } from '../../testing/fake-socket.js';
import { encodeCommand, TestLane } from '../../testing/index.js';
import { EpollSocket } from './epoll-socket.js';
import { Errno } from './libc.js';
import { Interest, Poller } from './poller.js';

const READING = Interest.readable | Interest.peerEnded;

/** A connection on a fake socket, with a record of its requests to the loop. */
function open(settings: ConstructorParameters<typeof TestLane>[0] = {}) {
  const test = new TestLane(settings);
  const socket = new FakeSocket();
  socket.sent = [];
  const libc = socket.libc(test.lane.input.bytes);
  const asked = { turns: 0, sleeps: [] as number[], closed: 0 };
  const epollSocket = new EpollSocket(libc, new Poller(libc), test.lane, 0, FakeSocket.FD, {
    takeReplies: () => false,
    onTurn: () => asked.turns++,
    onSleep: (sleeper, wakeAtMs) => {
      asked.sleeps.push(wakeAtMs);
      sleeper.sleepIndex = 0;
    },
    onClose: () => asked.closed++,
  });
  epollSocket.open();
  const { connection } = epollSocket;
  const handle = (events: number) => epollSocket.handle(events);
  const receive = (text: string) => {
    socket.source = Buffer.from(text, 'latin1');
    socket.readable = socket.source.length;
    handle(Interest.readable);
  };
  const sent = () => Buffer.concat(socket.sent ?? []).toString('latin1');
  return { test, socket, connection, handle, asked, receive, sent };
}

test('bytes that the system does not take are kept, sent when there is room, and in order', () => {
  const { socket, connection, receive, sent, handle } = open();
  socket.room = 3;
  receive('PING\r\nECHO abc\r\n');
  expect(sent()).toBe('+PO');
  expect(socket.interest).toBe(READING | Interest.writable);
  receive('PING again\r\n');
  for (let piece = 0; piece < 40; piece++) {
    socket.room = 1;
    handle(Interest.writable);
  }
  expect(sent()).toBe('+PONG\r\n$3\r\nabc\r\n$5\r\nagain\r\n');
  expect(connection.pendingBytes).toBe(0);
  expect(socket.interest).toBe(READING);
});

test('a client that does not read is not read from past the soft limit, until it has read', () => {
  const { socket, handle, receive } = open({ outputLimit: { hardBytes: 0, softBytes: 100_000, softSeconds: 0 } });
  socket.room = 0;
  const echo = encodeCommand('ECHO', 'x'.repeat(50_000));
  receive(echo);
  expect(socket.interest).toBe(READING | Interest.writable);
  receive(echo);
  expect(socket.interest).toBe(Interest.writable);
  socket.room = Number.POSITIVE_INFINITY;
  handle(Interest.writable);
  expect(socket.interest).toBe(READING);
});

test('a wait ends when it was to end, though replies are sent meanwhile', () => {
  const { test, socket, handle, asked, receive } = open();
  const startedAtMs = test.clock.monotonic();
  socket.room = 3;
  receive('PING\r\nDEBUG SLEEP 2\r\n');
  test.clock.advance(1000);
  socket.room = 1;
  handle(Interest.writable);
  expect(asked.sleeps).toEqual([startedAtMs + 2000]);
});

test('while a command waits, the socket is watched only for its end', () => {
  const { socket, handle, asked, receive } = open();
  receive('WAIT 1 0\r\n');
  expect(socket.interest).toBe(Interest.peerEnded);
  handle(Interest.peerEnded);
  expect([socket.isClosed, asked.closed]).toEqual([true, 1]);
});

test('a stop sends the bytes that fit, then the rest when there is room, and reads no more', () => {
  const { socket, connection, receive, sent, handle } = open();
  socket.room = 3;
  receive('DEBUG SLEEP 10\r\nPING\r\n');
  connection.finish();
  expect(sent()).toBe('+OK');
  expect(socket.interest).toBe(Interest.writable);
  expect(socket.isShutDown).toBe(false);
  socket.room = 100;
  handle(Interest.writable);
  expect(sent()).toBe('+OK\r\n+PONG\r\n');
  expect(socket.isShutDown).toBe(true);
  connection.finish();
  expect(socket.isClosed).toBe(false);
});

test('what a read leaves in the socket, or arrives with the end of the client, is reported again', () => {
  const { socket, handle, receive, sent, asked } = open();
  expect([socket.isEdgeTriggered, socket.watches]).toEqual([true, 1]);
  receive('PING\r\n');
  expect(socket.watches).toBe(1);
  receive('PING\r\n'.repeat(20_000));
  expect([socket.readable > 0, socket.watches]).toEqual([true, 2]);
  socket.source = socket.source.subarray(-socket.readable);
  handle(Interest.readable);
  expect([socket.readable, socket.watches]).toEqual([0, 2]);
  expect(sent()).toBe('+PONG\r\n'.repeat(20_001));

  socket.source = Buffer.from('PING\r\n');
  socket.readable = socket.source.length;
  handle(Interest.readable | Interest.peerEnded);
  expect([sent().endsWith('+PONG\r\n'), asked.closed, socket.watches]).toEqual([true, 0, 3]);
});

test('a system that is short of memory is asked again, though no room appears', () => {
  const { socket, receive, sent, handle } = open();
  socket.room = 0;
  receive('PING\r\n');
  expect(socket.watches).toBe(2);
  socket.failure = Errno.noBuffers;
  handle(Interest.writable);
  expect(socket.watches).toBe(3);
  socket.failure = 0;
  socket.room = 100;
  handle(Interest.writable);
  expect(sent()).toBe('+PONG\r\n');
});

test('a broken connection is closed once, whatever epoll reports of it', () => {
  const { socket, connection, asked, receive, handle } = open();
  handle(Interest.failed | Interest.hungUp);
  handle(Interest.failed);
  connection.wake();
  connection.resume();
  connection.finish();
  connection.destroy();
  receive('PING\r\n');
  expect([socket.isClosed, asked.closed, asked.turns]).toEqual([true, 1, 0]);
});

const built = (path: string) => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url));
const MEASURE = `
  import { encodeCommand, TestLane } from ${built('testing/test-lane.js')};
  import { FakeSocket } from ${built('testing/fake-socket.js')};
  import { EpollSocket } from ${built('transport/epoll/epoll-socket.js')};
  import { Interest, Poller } from ${built('transport/epoll/poller.js')};
  import { Outbox } from ${built('transport/epoll/outbox.js')};
  const { lane } = new TestLane();
  const socket = new FakeSocket();
  const libc = socket.libc(lane.input.bytes);
  const outbox = new Outbox(lane);
  const takeReplies = (connection) => {
    outbox.take(connection);
    return true;
  };
  const listener = { takeReplies, onTurn() {}, onSleep() {}, onClose() {} };
  const epollSocket = new EpollSocket(libc, new Poller(libc), lane, 0, FakeSocket.FD, listener);
  const bytesPerRead = {};
  for (const pipeline of [1, 64]) {
    socket.source = Buffer.from(encodeCommand('INCR', 'visits:0042').repeat(pipeline));
    const run = (count) => {
      for (let read = 0; read < count; read++) {
        socket.readable = socket.source.length;
        epollSocket.handle(Interest.readable);
        outbox.send();
      }
    };
    run(50_000);
    gc();
    const before = process.memoryUsage().heapUsed;
    run(50_000);
    bytesPerRead[pipeline] = (process.memoryUsage().heapUsed - before) / 50_000;
  }
  console.log(JSON.stringify({ bytesPerRead, sentBytes: socket.sentBytes }));
`;

/** Numbers past 2³¹, such as totals of bytes, are boxed now and then. */
const NEXT_TO_NOTHING_BYTES = 64;

test('a read and its replies make next to no garbage, however many commands are in it', () => {
  const flags = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256', '--input-type=module'];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', MEASURE], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { bytesPerRead, sentBytes } = JSON.parse(stdout) as { bytesPerRead: Record<string, number>; sentBytes: number };
  expect(sentBytes).toBeGreaterThan(0);
  expect(Object.keys(bytesPerRead)).toEqual(['1', '64']);
  for (const bytes of Object.values(bytesPerRead)) expect(bytes).toBeLessThan(NEXT_TO_NOTHING_BYTES);
});
