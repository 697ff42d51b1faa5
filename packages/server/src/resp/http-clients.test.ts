import { once } from 'node:events';
import { request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { expect, test } from 'vitest';
import { describeEveryDoor, encodeCommand, type RespDoor, TestClient } from '../testing/index.js';

/** A web page can make a browser send HTTP to a port of this machine, with a body of its choice. */

const COMMANDS = `INCR inline\r\n${encodeCommand('INCR', 'multibulk')}SET inline 7\r\n`;

/** Sends a request as a browser does; resolves when the connection is over, to what came back. */
function send(door: RespDoor, method: string, body: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { port: door.port, host: '127.0.0.1', method, agent: false };
    const sent = door.isSecure ? requestSecurely({ ...options, ca: door.ca }) : request(options);
    sent.on('response', (response) => resolve(`answered ${response.statusCode}`));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(body);
  });
}

async function expectNothingRan(door: RespDoor): Promise<void> {
  const client = await TestClient.open(door.server.port);
  expect(await client.call('DBSIZE')).toBe(':0\r\n');
  client.close();
}

describeEveryDoor('an HTTP request to a RESP port', (open) => {
  test('runs nothing of its body and is not answered, whatever its method', async () => {
    const door = await open();
    for (const method of ['POST', 'GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH']) {
      for (const body of [COMMANDS, COMMANDS.repeat(10_000)]) {
        expect([method, await send(door, method, body)]).toEqual([
          method,
          expect.stringMatching(/^(?:ECONNRESET|EPIPE)$/),
        ]);
      }
    }
    await expectNothingRan(door);
  });

  test('runs no line in front of it that came with it', async () => {
    const door = await open();
    const lines = [
      'SET a 1\r\nINCR b\r\nPOST / HTTP/1.1\r\n',
      'GET /\r\nINCR a\r\nX HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
      'SET a 1\r\nhost:evil.example\r\nSET b 1\r\n',
      '\x16\x03\x01\x02\0\nSET a 1\r\n',
    ];
    for (const line of lines) {
      const socket = door.connect();
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
      });
      socket.end(`${line}${COMMANDS}`, 'latin1');
      await once(socket, 'close');
      expect([line, received]).toEqual([line, '']);
    }
    await expectNothingRan(door);
  });

  test('behind commands that were answered ends the connection', async () => {
    const door = await open();
    const socket = door.connect();
    socket.write(encodeCommand('PING'));
    expect(String((await once(socket, 'data'))[0])).toBe('+PONG\r\n');
    socket.write(`POST / HTTP/1.1\r\n\r\n${COMMANDS}`);
    await once(socket, 'end');
    await expectNothingRan(door);
  });
});
