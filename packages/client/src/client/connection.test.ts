import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ConnectionError, ReplyError, TimeoutError } from '../contract/errors.js';
import { QuotadbClient } from './client.js';
import { Connection } from './connection.js';
import { type ClientOptions, resolveOptions } from './options.js';
import { CountingServer } from './testing/counting-server.js';

let server: CountingServer;
beforeEach(async () => {
  server = await CountingServer.start();
});
const clients: QuotadbClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.stop();
});

function open(options: ClientOptions = {}): QuotadbClient {
  const client = QuotadbClient.open({ port: server.port, reconnectAfterMs: () => 5, ...options });
  clients.push(client);
  return client;
}

function failureOf(promise: Promise<unknown>): Promise<ConnectionError> {
  return promise.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: ConnectionError) => error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test('a lost connection is made again; a command without its reply fails, and may have run', async () => {
  const losses: Error[] = [];
  const client = open({ onConnectionError: (error) => losses.push(error) });
  await client.increment('key');
  server.hold();
  const unknown = failureOf(client.increment('key'));
  await until(() => server.counts.get('key') === 2);
  server.cutConnections();
  server.release();
  const error = await unknown;
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error.isSent).toBe(true);
  expect(await client.increment('key')).toBe(3);
  expect(losses).toHaveLength(1);
  expect(server.connections).toBe(2);
});

test('a command that was not sent waits for the connection and is run once', async () => {
  await server.stop();
  const counted = open().increment('key');
  await server.listen();
  expect(await counted).toBe(1);
});

test('commands of one turn of the event loop come back each with its own reply', async () => {
  const client = open();
  const counts = await Promise.all(Array.from({ length: 5_000 }, () => client.increment('key')));
  expect(counts).toEqual(Array.from({ length: 5_000 }, (_, index) => index + 1));
});

test('without a server a command fails after its timeout, and was not sent', async () => {
  await server.stop();
  const error = await failureOf(open({ timeoutMs: 50 }).increment('key'));
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.isSent).toBe(false);
  expect(error.message).toContain('ECONNREFUSED');
});

test('a missing reply is a timeout, and a connection that stays silent is given up', async () => {
  const client = open({ timeoutMs: 20 });
  await client.ping({ timeoutMs: 10_000 });
  server.hold();
  const error = await failureOf(client.ping());
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.isSent).toBe(true);
  while (server.connections === 1) await client.ping().catch(() => undefined);
  server.release();
});

test('the reply to an aborted command is not taken for that of the next', async () => {
  const client = open();
  const given = new AbortController();
  await client.ping();
  server.hold();
  const first = failureOf(client.increment('key', 1, { signal: given.signal }));
  const second = client.increment('key', 10);
  await until(() => server.counts.get('key') === 11);
  given.abort(new Error('not needed any more'));
  expect((await first).message).toBe('not needed any more');
  server.release();
  expect(await second).toBe(11);
  expect(await client.increment('key', 100)).toBe(111);
});

test('an aborted signal stops a command from being sent', async () => {
  const client = open();
  await expect(client.increment('key', 1, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  const later = new AbortController();
  const waiting = client.increment('key', 1, { signal: later.signal });
  later.abort();
  await expect(waiting).rejects.toThrow('aborted');
  await client.ping();
  expect(server.counts.has('key')).toBe(false);
});

test('closing waits for the replies to sent commands, and refuses later ones', async () => {
  const client = open();
  await client.ping();
  const counted = Promise.all([client.increment('key'), client.increment('key')]);
  await client.close();
  expect(await counted).toEqual([1, 2]);
  await expect(client.ping()).rejects.toThrow('closed');
});

test('more commands than may wait fail at once', async () => {
  const client = open({ maxPending: 2 });
  const outcomes = await Promise.allSettled([client.ping(), client.ping(), client.ping()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
});

test('a client that gives up connecting fails the commands that wait', async () => {
  await server.stop();
  await expect(open({ reconnectAfterMs: () => undefined }).ping()).rejects.toThrow(ConnectionError);
});

test('AUTH goes first, on every connection; without it, or with a wrong password, no command runs', async () => {
  server.password = 'secret';
  const right = QuotadbClient.open(`quotadb://:secret@127.0.0.1:${server.port}`);
  clients.push(right);
  expect(await right.increment('key')).toBe(1);
  server.cutConnections();
  await until(() => !right.isReady);
  expect(await right.increment('key')).toBe(2);
  expect(server.commands.map(([name]) => name)).toEqual(['AUTH', 'INCRBY', 'AUTH', 'INCRBY']);
  const failures: Error[] = [];
  const onConnectionError = (error: Error) => failures.push(error);
  const wrong = open({ username: 'default', password: 'guess', timeoutMs: 100, onConnectionError });
  await expect(wrong.increment('key')).rejects.toThrow('WRONGPASS');
  expect(failures[0]?.message).toContain('WRONGPASS');
  await expect(open().increment('key')).rejects.toThrow('NOAUTH');
  expect(server.counts.get('key')).toBe(2);
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const testWithOpenssl = hasOpenssl || process.env.CI === 'true' ? test : test.skip;

testWithOpenssl('TLS: a trusted certificate is accepted, another is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quotadb-client-tls-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
  ]);
  const material = { key: await readFile(key), cert: await readFile(certificate) };
  const secure = await CountingServer.start(material);
  try {
    const target = { host: 'localhost', port: secure.port };
    expect(await open({ ...target, tls: { ca: material.cert } }).increment('key')).toBe(1);
    const failures: Error[] = [];
    const onConnectionError = (error: Error) => failures.push(error);
    await expect(open({ ...target, tls: true, timeoutMs: 200, onConnectionError }).ping()).rejects.toBeInstanceOf(
      TimeoutError,
    );
    // On a busy machine the handshake may take longer than the command waits; the client goes on trying.
    await until(() => failures.length > 0);
    expect(failures[0]?.message).toContain('self-signed certificate');
  } finally {
    await secure.stop();
    await rm(folder, { recursive: true });
  }
});

test('a refusal names its command, and its stack leads to the code that awaits it', async () => {
  const client = open();
  async function placeOrder(): Promise<void> {
    await client.quotaTake('emails', 'acme', 3);
  }
  async function sendAll(): Promise<void> {
    await Promise.all([client.ping(), client.send([Buffer.from('MYSTERY'), 'word'])]);
  }
  const refused = (await placeOrder().catch((error: unknown) => error)) as ReplyError;
  expect(refused).toBeInstanceOf(ReplyError);
  expect(refused).toMatchObject({ command: 'QUOTA.TAKE', code: 'ERR', message: "ERR unknown command 'QUOTA.TAKE'" });
  expect(refused.stack).toMatch(/at .*quotaTake.*\n\s+at .*placeOrder/);
  const together = (await sendAll().catch((error: unknown) => error)) as ReplyError;
  expect(together.command).toBe('MYSTERY');
  expect(together.stack).toMatch(/at .*sendAll/);
});

test('a refused AUTH shows no password: neither of the caller nor of the connection', async () => {
  server.password = 'right';
  const losses: Error[] = [];
  open({ password: 'wrong-secret', onConnectionError: (error) => losses.push(error) });
  await until(() => losses.length > 0);
  const refused = await open({ password: 'right' })
    .send(['AUTH', 'me', 'other-secret'])
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ command: 'AUTH', code: 'WRONGPASS' });
  expect(inspect([losses, refused])).not.toMatch(/secret/);
});

test('a connection of servers begins with its greetings, and one that is refused ends it', async () => {
  const failures: Error[] = [];
  const options = {
    ...resolveOptions({ port: server.port }),
    onConnectionError: (error: Error) => failures.push(error),
  };
  const greeted = new Connection({ ...options, greetings: [['INCRBY', 'greeting', 2]] });
  expect(await greeted.send(['INCRBY', 'greeting', 1])).toBe(3);
  await greeted.close();
  const refused = new Connection({ ...options, greetings: [['NONSENSE']], reconnectAfterMs: () => undefined });
  expect((await failureOf(refused.send(['INCRBY', 'greeting', 1]))).isSent).toBe(false);
  expect(server.counts.get('greeting')).toBe(3);
  expect(failures).toHaveLength(1);
});
