import { expect, test } from 'vitest';
import { FakeSocket } from '../../testing/fake-socket.js';
import { encodeCommand, TestLane } from '../../testing/index.js';
import { EpollSocket } from './epoll-socket.js';
import { Outbox } from './outbox.js';
import { Interest, Poller } from './poller.js';

/** A lane with connections on fake sockets, whose replies wait in an outbox. */
function openLane() {
  const { lane } = new TestLane();
  const outbox = new Outbox(lane);
  const connect = () => {
    const socket = new FakeSocket();
    socket.sent = [];
    const libc = socket.libc(lane.input.bytes);
    const epollSocket = new EpollSocket(libc, new Poller(libc), lane, 0, FakeSocket.FD, {
      takeReplies: (connection) => {
        outbox.take(connection);
        return true;
      },
      onTurn: () => undefined,
      onSleep: () => undefined,
      onClose: () => undefined,
    });
    epollSocket.open();
    const receive = (text: string) => {
      socket.source = Buffer.from(text, 'latin1');
      socket.readable = socket.source.length;
      epollSocket.handle(Interest.readable);
    };
    const sent = () => Buffer.concat(socket.sent ?? []).toString('latin1');
    return { socket, connection: epollSocket.connection, receive, sent };
  };
  return { lane, outbox, connect };
}

test('replies leave together after the turns of all connections, each to its own', () => {
  const { lane, outbox, connect } = openLane();
  const [first, second, third] = [connect(), connect(), connect()];
  first.receive(encodeCommand('ECHO', 'one'));
  second.receive(encodeCommand('ECHO', 'two') + encodeCommand('PING'));
  third.receive('*1\r\n$4\r\nPI');
  expect(first.sent() + second.sent() + third.sent()).toBe('');
  outbox.send();
  expect([first.sent(), second.sent(), third.sent()]).toEqual(['$3\r\none\r\n', '$3\r\ntwo\r\n+PONG\r\n', '']);
  expect([lane.reply.length, lane.repliesFrom]).toEqual([0, 0]);
});

test('a full outbox leaves before the turns of further connections', () => {
  const { outbox, connect } = openLane();
  const [first, second] = [connect(), connect()];
  first.receive(encodeCommand('ECHO', 'x'.repeat(Outbox.FULL_BYTES)));
  expect(first.socket.sentBytes).toBeGreaterThan(Outbox.FULL_BYTES);
  second.receive(encodeCommand('PING'));
  expect(second.sent()).toBe('');
  outbox.send();
  expect(second.sent()).toBe('+PONG\r\n');
});

test('a client that quits gets its last reply first, and one that was killed meanwhile gets nothing', () => {
  const { outbox, connect } = openLane();
  const [quitting, killed, last] = [connect(), connect(), connect()];
  quitting.receive(encodeCommand('QUIT'));
  killed.receive(encodeCommand('PING'));
  last.receive(encodeCommand('ECHO', 'still here'));
  killed.connection.destroy();
  expect(quitting.socket.isShutDown).toBe(false);
  outbox.send();
  expect([quitting.sent(), quitting.socket.isShutDown]).toEqual(['+OK\r\n', true]);
  expect([killed.sent(), last.sent()]).toEqual(['', '$10\r\nstill here\r\n']);
});

test('replies that leave in the middle of a turn leave what that turn has written', () => {
  const { lane, outbox, connect } = openLane();
  const [first, second] = [connect(), connect()];
  first.receive(encodeCommand('PING'));
  lane.reply.simple('half');
  outbox.send();
  expect(first.sent()).toBe('+PONG\r\n');
  second.receive(encodeCommand('PING'));
  outbox.send();
  expect(second.sent()).toBe('+half\r\n+PONG\r\n');
  expect(lane.reply.length).toBe(0);
});
