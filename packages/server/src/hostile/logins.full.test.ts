import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { hashPassword } from '@quotadb/config';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FailedLogins } from '../access/failed-logins.js';
import { LoginQueue } from '../access/login-queue.js';
import { eventually, useProcesses, useTestServers } from '../testing/index.js';

const FLOOD = 300;
const start = useTestServers();
const processes = useProcesses();
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Every address of 127.0.0.0/8 is this machine's. */
async function open(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket, line: string): Promise<string> {
  socket.write(`${line}\r\n`);
  const [reply] = await once(socket, 'data');
  return String(reply);
}

let passwords: string[];
beforeAll(async () => {
  passwords = [await hashPassword(Buffer.from('right'))];
});

describe.each(['password', 'users'])('a flood of guesses, with %s', (kind) => {
  const web = () => ({ name: 'web', roles: ['write' as const], prefixes: [], passwords, tokens: [] });
  const settings = () => (kind === 'password' ? { password: 'right' } : { users: new Map([['web', web()]]) });
  const auth = (password: string) => (kind === 'password' ? `AUTH ${password}` : `AUTH web ${password}`);

  test('is checked as slowly as one guess after another, and keeps no other address out', async () => {
    const { port, server } = await start(settings());
    const { failed } = (server as unknown as { logins: LoginQueue }).logins;
    const startedAtMs = performance.now();
    const guessers = await Promise.all(Array.from({ length: FLOOD }, () => open(port, '127.0.0.1')));
    const answers = guessers.map((socket, index) => ask(socket, auth(`guess${index}`)).catch(() => ''));
    expect(await ask(await open(port, '127.0.0.2'), auth('right'))).toBe('+OK\r\n');
    // All but those that had a turn or wait for one are refused at once, with the reason.
    const busy: string[] = [];
    for (const answer of answers)
      void answer.then((reply) => {
        if (reply.startsWith('-ERR the password was not checked')) busy.push(reply);
      });
    const inTurn = () => failed.total + LoginQueue.MAXIMUM_WAITING_PER_NAME;
    await eventually(async () => expect(busy.length + inTurn()).toBeGreaterThanOrEqual(FLOOD - 1));
    // Five while the delay doubles, then one for each of the longest.
    const elapsedMs = performance.now() - startedAtMs;
    expect(failed.total).toBeLessThanOrEqual(5 + elapsedMs / FailedLogins.LONGEST_DELAY_MS);
  });

  test('leaves nothing to check behind when its connections are gone', async () => {
    const { port } = await start(settings());
    const guessers = await Promise.all(Array.from({ length: FLOOD }, () => open(port, '127.0.0.1')));
    for (const socket of guessers) socket.write(`${auth('guess')}\r\n`);
    await eventually(async () => {
      expect(await ask(await open(port, '127.0.0.1'), auth('guess'))).toMatch(/^-ERR the password was not checked/);
    });
    for (const socket of guessers) socket.destroy();
    // Its own address waits for one delay, not for those that were in front of it.
    await eventually(async () => {
      expect(await ask(await open(port, '127.0.0.1'), auth('right'))).toBe('+OK\r\n');
    });
  });
});

test.each([['net'], ['epoll']])(
  'a client that has ended its half gets the reply to its login: %s',
  async (transport) => {
    const { resp } = await processes.serve(['--transport', transport, '--password', 'right']).ready();
    const socket = connect({ port: resp, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    socket.end('AUTH right\r\nPING\r\n');
    let replies = '';
    for await (const chunk of socket) replies += chunk;
    expect(replies).toBe('+OK\r\n+PONG\r\n');
  },
);
