import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { describeEveryDoor, encodeCommand } from '../testing/index.js';

/** A client that ends its half as soon as it has sent its commands, as `nc` and `socat` do, gets all replies. */

/** Everything up to the end of the connection. */
async function rest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** Equal texts of many megabytes are not compared by a message that prints them. */
function expectSame(actual: string, expected: string): void {
  expect(actual.length).toBe(expected.length);
  expect(actual === expected).toBe(true);
}

describeEveryDoor('a client that ends its half first', (open) => {
  test('gets the reply to one command', async () => {
    const socket = (await open()).connect();
    socket.end('INCR a\r\n');
    expect(await rest(socket)).toBe(':1\r\n');
  });

  test('gets the replies to a pipeline longer than every buffer on its way', async () => {
    const door = await open();
    const socket = door.connect();
    const commands = 200_000;
    socket.end(encodeCommand('INCR', 'counter').repeat(commands));
    const replies = Array.from({ length: commands }, (_, index) => `:${index + 1}\r\n`);
    expectSame(await rest(socket), replies.join(''));
  });

  test('gets replies that are longer than every buffer, though it reads slowly', async () => {
    const socket = (await open()).connect();
    const value = 'x'.repeat(100_000);
    socket.end(encodeCommand('ECHO', value).repeat(200));
    socket.on('data', () => {
      socket.pause();
      setImmediate(() => socket.resume());
    });
    expectSame(await rest(socket), `$100000\r\n${value}\r\n`.repeat(200));
  });

  test('gets replies that are longer than every buffer to few commands', async () => {
    const door = await open();
    const filler = door.connect();
    const keys = Array.from({ length: 60_000 }, (_, index) => `a-key-with-a-rather-long-name:${index}`);
    filler.end(encodeCommand('MSET', ...keys.flatMap((key) => [key, 1])));
    expect(await rest(filler)).toBe('+OK\r\n');
    const socket = door.connect();
    socket.end('KEYS *\r\nSCAN 0 COUNT 100000\r\nPING\r\n');
    const replies = await rest(socket);
    expect(replies.length).toBeGreaterThan(keys.join('\r\n').length * 2);
    expect(replies.endsWith('+PONG\r\n')).toBe(true);
  });

  test('gets the replies to commands that wait for another thread, and to those behind them', async () => {
    const socket = (await open({ password: 'secret' })).connect();
    socket.end('AUTH wrong\r\nAUTH secret\r\nINFO\r\nCLIENT LIST\r\nPING\r\n');
    const replies = await rest(socket);
    expect(replies).toMatch(/^-WRONGPASS .*\r\n\+OK\r\n\$/);
    expect(replies.endsWith('+PONG\r\n')).toBe(true);
  });

  test('gets the replies to blocking commands that end soon, and to those behind them', async () => {
    const door = await open();
    const socket = door.connect();
    const value = 'x'.repeat(3_000_000);
    socket.write(`${encodeCommand('ECHO', value)}DEBUG SLEEP 0.2\r\n`);
    // Bytes that come during the wait, and the end behind them.
    socket.end(`INCR a\r\nWAIT 1 200\r\n${'INCR a\r\n'.repeat(20_000)}`);
    const counts = Array.from({ length: 20_000 }, (_, index) => `:${index + 2}\r\n`).join('');
    expectSame(await rest(socket), `$3000000\r\n${value}\r\n+OK\r\n:1\r\n:0\r\n${counts}`);
  });

  test('and waits without end is removed', async () => {
    const door = await open();
    const socket = door.connect();
    socket.end('PING\r\nWAIT 1 0\r\nPING\r\n');
    expect(await rest(socket)).toBe('+PONG\r\n');
  });

  test('gets the replies in front of a command that it did not finish', async () => {
    const socket = (await open()).connect();
    socket.end('INCR a\r\n*2\r\n$4\r\nINCR\r\n$1');
    expect(await rest(socket)).toBe(':1\r\n');
  });
});
