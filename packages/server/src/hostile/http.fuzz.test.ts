import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, startTestServer, type TestServer } from '../testing/index.js';
import { readCorpus } from './corpus.js';
import { Mutator } from './mutate.js';

const corpus = readCorpus('http');
const everything = corpus.map(({ bytes }) => bytes);
const SEEDS = 60;

let server: TestServer;
const sockets = new Set<Socket>();
beforeAll(async () => {
  // A token keeps mutated changes from a database: the test is about their refusal.
  server = await startTestServer({ countsTokens: ['right'], countsInternalTokens: ['also right'] });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop();
});

/** All bytes of the server until it closes the connection, or until it has answered and waits for more. */
async function exchange(bytes: Buffer): Promise<string> {
  const socket = connect(server.httpPort, '127.0.0.1');
  sockets.add(socket);
  let answer = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await once(socket, 'connect');
  // Half-closed: a server that is owed more will not get it, and has to make up its mind.
  socket.end(bytes);
  await closed;
  sockets.delete(socket);
  return answer;
}

test.each(corpus.map(({ name, bytes }) => [name, bytes] as const))(
  'what is nearly %s is answered with a status or closed, and others are served',
  async (_, bytes) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const answer = await exchange(new Mutator(seed).mutate(bytes, everything));
      if (answer !== '') expect([seed, answer]).toEqual([seed, expect.stringMatching(/^HTTP\/1\.1 (?!500)\d{3} /)]);
    }
    await eventually(async () => {
      expect((await fetch(`http://127.0.0.1:${server.httpPort}/readyz`)).status).toBe(200);
    });
  },
);
