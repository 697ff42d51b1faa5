import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TcpProxy } from './tcp-proxy.js';

let echo: Server;
let proxy: TcpProxy;
const clients: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await TcpProxy.open((echo.address() as AddressInfo).port);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.close();
  await new Promise((resolve) => echo.close(resolve));
});

async function dial() {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  clients.push(socket);
  await once(socket, 'connect');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => undefined);
  const until = async (text: string) => {
    while (received !== text) await once(socket, 'data');
  };
  return { socket, until, received: () => received };
}

test('passes bytes in both directions, and the end of a connection', async () => {
  const { socket, until } = await dial();
  socket.write('hello');
  await until('hello');
  expect([proxy.connections, proxy.toListener.received, proxy.toDialer.received]).toEqual([1, 5, 5]);
  proxy.reset();
  await once(socket, 'close');
});

test('a held direction passes its bytes on, in order, when it is released', async () => {
  const { socket, until, received } = await dial();
  proxy.toDialer.hold();
  socket.write('one ');
  while (proxy.toDialer.received < 4) await new Promise(setImmediate);
  expect(received()).toBe('');
  socket.write('two');
  proxy.toDialer.release();
  await until('one two');
});

test('a shorter delay does not overtake bytes of a longer one', async () => {
  const { socket, until } = await dial();
  proxy.delayMs = 30;
  socket.write('slow ');
  while (proxy.toListener.received < 5) await new Promise(setImmediate);
  proxy.delayMs = 0;
  socket.write('fast');
  await until('slow fast');
});

test('a cut loses all bytes without closing; healing closes what lost them, and new connections pass', async () => {
  const { socket } = await dial();
  proxy.cut();
  socket.write('lost');
  while (proxy.toListener.received < 4) await new Promise(setImmediate);
  expect([proxy.toDialer.received, socket.destroyed]).toEqual([0, false]);
  proxy.heal();
  await once(socket, 'close');
  const again = await dial();
  again.socket.write('found');
  await again.until('found');
});

test('a filter drops the chunks it refuses', async () => {
  const { socket, until } = await dial();
  proxy.toListener.filter = (chunk) => !chunk.includes('secret');
  socket.write('secret');
  while (proxy.toListener.received < 6) await new Promise(setImmediate);
  socket.write('open');
  await until('open');
});

test('listens again on the port it had', async () => {
  const { port } = proxy;
  await proxy.close();
  await proxy.listen();
  expect(proxy.port).toBe(port);
  const { socket, until } = await dial();
  socket.write('back');
  await until('back');
});
