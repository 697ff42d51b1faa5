import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createSecureServer } from 'node:tls';
import { ConnectionError, QuotadbClient, ReplyError, TimeoutError } from '@quotadb/client';
import { CELL_MARGIN_MS } from '@quotadb/rate';
import { QuotadbWindowStore } from '@quotadb/windows';
import { describeWindowCounterStore } from '@quotadb/windows/conformance';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { spawnServer, startTestServer, type TestServer } from '../testing/index.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const clients: QuotadbClient<number | bigint>[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
function opened<Integer extends number | bigint>(client: QuotadbClient<Integer>): QuotadbClient<Integer> {
  clients.push(client as unknown as QuotadbClient<number | bigint>);
  return client;
}

let keys = 0;
const freshKey = () => `key:${++keys}`;

/** Stands between client and server, and lets a test cut, hold or refuse connections. */
class LinkProxy {
  readonly sockets = new Set<Socket>();
  connections = 0;
  #held: (() => void)[] | undefined;
  readonly #server: Server;

  static async start(port: number): Promise<LinkProxy> {
    const proxy = new LinkProxy(port);
    await proxy.listen(0);
    return proxy;
  }

  private constructor(port: number) {
    this.#server = createServer((client) => {
      this.connections++;
      const upstream = connect(port, '127.0.0.1');
      for (const socket of [client, upstream]) {
        this.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream);
      upstream.on('data', (bytes) => {
        if (this.#held === undefined) client.write(bytes);
        else this.#held.push(() => client.write(bytes));
      });
    });
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** From now on replies do not arrive, until they are released. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const write of this.#held ?? []) write();
    this.#held = undefined;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('commands', () => {
  test('count, read, set and delete', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const [one, other] = [freshKey(), freshKey()];
    expect(await client.increment(one)).toBe(1);
    expect(await client.increment(one, 41)).toBe(42);
    expect(await client.decrement(one, 2)).toBe(40);
    expect(await client.incrementExpiring(other, 3, 100)).toBe(3);
    expect(await client.getMany([one, other, 'none'])).toEqual([40, 3, undefined]);
    await client.set(one, -7);
    expect(await client.get(one)).toBe(-7);
    expect(await client.delete([one, other, 'none'])).toBe(2);
    expect(await client.get(one)).toBeUndefined();
    await client.ping();
  });

  test('count in windows and against limits', async () => {
    const client = opened(QuotadbClient.open(`quotadb://127.0.0.1:${server.port}`));
    const key = freshKey();
    const counted = await client.windowIncrement(key, 3_600_000, 5);
    expect(counted.endMs - counted.startMs).toBe(3_600_000);
    expect(await client.windowRead(key, 3_600_000, { startMs: counted.startMs })).toEqual(counted);
    expect(await client.rateLimit(key, 10, 3_600_000, 4)).toMatchObject({ allowed: true, limit: 10, remaining: 6 });
    expect(await client.ratePeek(key, 10, 3_600_000)).toMatchObject({ allowed: true, remaining: 6, retryAfterMs: 0 });
    expect(await client.rateAdd(key, 10, 3_600_000, 9)).toMatchObject({ allowed: false, remaining: 0 });
    const rules = [
      { key: freshKey(), limit: 1, windowMs: 3_600_000 },
      { key, limit: 10, windowMs: 3_600_000 },
    ];
    const several = await client.rateLimitAll(rules);
    expect(several.allowed).toBe(false);
    expect(several.decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
    const bucket = { burst: 1, count: 1, periodMs: 60_000 };
    expect(await client.gcra(key, bucket)).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
    expect(await client.gcra(key, bucket, 2)).toMatchObject({ allowed: false, retryAfterMs: expect.any(Number) });
  });

  test('keys may be any bytes', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = Uint8Array.of(107, 255, 0, 13, 10);
    expect(await client.increment(key, 3)).toBe(3);
    expect(await client.get(Uint8Array.from(key))).toBe(3);
    expect(await client.get('k')).toBeUndefined();
  });

  test('what the server refuses is a ReplyError with its code', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    await client.set(key, 2n ** 63n - 1n);
    const error = await client.increment(key).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ReplyError);
    expect((error as ReplyError).code).toBe('ERR');
    await expect(client.send(['NONSENSE'])).rejects.toThrow("unknown command 'NONSENSE'");
  });

  test('digits past 2^53: exact as bigint, an error as number, never another number', async () => {
    const exact = opened(QuotadbClient.open({ port: server.port, integers: 'bigint' }));
    const plain = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    expect(await exact.increment(key, 2n ** 53n + 1n)).toBe(9007199254740993n);
    expect(await exact.get(key)).toBe(9007199254740993n);
    expect(await exact.getMany([key])).toEqual([9007199254740993n]);
    await expect(plain.get(key)).rejects.toThrow(RangeError);
    await expect(plain.increment(key, 2)).rejects.toThrow("integers: 'bigint'");
    expect(await exact.get(key)).toBe(9007199254740995n);
  });

  test('thousands at once come back each with its own reply', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    const counts = await Promise.all(Array.from({ length: 20_000 }, () => client.increment(key)));
    expect(counts).toEqual(Array.from({ length: 20_000 }, (_, index) => index + 1));
  });
});

describe('connections', () => {
  let proxy: LinkProxy;
  beforeEach(async () => {
    proxy = await LinkProxy.start(server.port);
  });
  afterEach(() => proxy.stop());

  test('a lost connection is made again, and what was under way fails as of unknown outcome', async () => {
    const losses: Error[] = [];
    const client = opened(QuotadbClient.open({ port: proxy.port, onConnectionError: (error) => losses.push(error) }));
    const key = freshKey();
    await client.increment(key);
    proxy.hold();
    const unknown = client.increment(key).catch((error: unknown) => error);
    const direct = opened(QuotadbClient.open({ port: server.port }));
    while ((await direct.get(key)) !== 2);
    proxy.cut();
    proxy.release();
    const error = (await unknown) as ConnectionError;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.isSent).toBe(true);
    expect(await client.increment(key)).toBe(3);
    expect(losses).toHaveLength(1);
    expect(proxy.connections).toBe(2);
  });

  test('what was not sent yet waits for the connection and is run once', async () => {
    const { port } = proxy;
    await proxy.stop();
    const client = opened(QuotadbClient.open({ port, reconnectAfterMs: () => 10 }));
    const key = freshKey();
    const counted = client.increment(key);
    const again = await LinkProxy.start(server.port);
    await again.stop();
    await proxy.listen(port);
    expect(await counted).toBe(1);
  });

  test('without a server a command fails after its timeout, and was not sent', async () => {
    const { port } = proxy;
    await proxy.stop();
    const client = opened(QuotadbClient.open({ port, timeoutMs: 50 }));
    const error = (await client.increment('key').catch((failure: unknown) => failure)) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.isSent).toBe(false);
    expect(error.message).toContain('ECONNREFUSED');
  });

  test('a reply that does not come is a timeout, and a server that never answers is left', async () => {
    const client = opened(QuotadbClient.open({ port: proxy.port, timeoutMs: 30 }));
    await client.ping();
    proxy.hold();
    const error = (await client.ping().catch((failure: unknown) => failure)) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.isSent).toBe(true);
    while (proxy.connections === 1) await client.ping().catch(() => undefined);
    proxy.release();
    // On a slow machine the second connection may have been silent for too long as well; the one after it is answered.
    const isAnswered = () =>
      client.ping({ timeoutMs: 10_000 }).then(
        () => true,
        () => false,
      );
    while (!(await isAnswered()));
  });

  test('a reply that is there is read before its command is called late, however busy the program was', async () => {
    const elsewhere = spawnServer(['--transport', 'net', '--max-memory', '16mb']);
    const client = opened(QuotadbClient.open({ port: (await elsewhere.ready()).resp, timeoutMs: 200 }));
    await client.ping({ timeoutMs: 10_000 });
    const counted = client.increment(freshKey());
    await new Promise((resolve) => setImmediate(resolve));
    const busyUntilMs = performance.now() + 400;
    while (performance.now() < busyUntilMs);
    expect(await counted).toBe(1);
    await client.close();
    await elsewhere.stop();
  });

  test('the reply to a command that was given up on is not taken for the next one’s', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    const given = new AbortController();
    const first = client.increment(key, 1, { signal: given.signal });
    const second = client.increment(key, 10);
    await Promise.resolve();
    given.abort(new Error('not needed any more'));
    await expect(first).rejects.toThrow('not needed any more');
    const counted = await second;
    expect([10, 11]).toContain(counted);
    expect(await client.increment(key, 100)).toBe(counted + 100);
  });

  test('an aborted signal stops a command from being sent', async () => {
    const client = opened(QuotadbClient.open({ port: server.port }));
    const key = freshKey();
    await expect(client.increment(key, 1, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
    const later = new AbortController();
    const waiting = client.increment(key, 1, { signal: later.signal });
    later.abort();
    await expect(waiting).rejects.toThrow('aborted');
    expect(await client.get(key)).toBeUndefined();
  });

  test('closing waits for the replies to what was sent, and nothing is taken after it', async () => {
    const client = QuotadbClient.open({ port: server.port });
    const key = freshKey();
    await client.ping();
    const counted = Promise.all([client.increment(key), client.increment(key)]);
    await client.close();
    expect(await counted).toEqual([1, 2]);
    await expect(client.ping()).rejects.toThrow('closed');
  });

  test('more commands than may wait fail at once', async () => {
    const client = opened(QuotadbClient.open({ port: server.port, maxPending: 2 }));
    const outcomes = await Promise.allSettled([client.ping(), client.ping(), client.ping()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  test('giving up on connecting fails what waits', async () => {
    const { port } = proxy;
    await proxy.stop();
    const client = opened(QuotadbClient.open({ port, reconnectAfterMs: () => undefined }));
    await expect(client.ping()).rejects.toThrow(ConnectionError);
  });
});

test('AUTH goes first, on every connection; without it, or with a wrong one, nothing runs', async () => {
  const guarded = await startTestServer({ password: 'secret' });
  try {
    const proxy = await LinkProxy.start(guarded.port);
    const right = opened(QuotadbClient.open(`quotadb://:secret@127.0.0.1:${proxy.port}`));
    expect(await right.increment('key')).toBe(1);
    proxy.cut();
    while (right.isReady) await new Promise((resolve) => setImmediate(resolve));
    expect(await right.increment('key', 1, { timeoutMs: 10_000 })).toBe(2);
    const failures: Error[] = [];
    const wrong = opened(
      QuotadbClient.open({
        port: guarded.port,
        username: 'default',
        password: 'guess',
        // A wrong password is answered after a while.
        timeoutMs: 10_000,
        onConnectionError: (error) => failures.push(error),
      }),
    );
    await expect(wrong.increment('key')).rejects.toThrow('WRONGPASS');
    expect(failures[0]?.message).toContain('WRONGPASS');
    const none = opened(QuotadbClient.open({ port: guarded.port }));
    await expect(none.increment('key')).rejects.toThrow('NOAUTH');
    await proxy.stop();
  } finally {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await guarded.stop();
  }
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const testWithOpenssl = hasOpenssl || process.env.CI === 'true' ? test : test.skip;

testWithOpenssl('TLS: a certificate that is trusted is taken, one that is not is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quotadb-client-tls-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
  ]);
  const material = { key: await readFile(key), cert: await readFile(certificate) };
  const secure = createSecureServer(material, (socket) => {
    const upstream = connect(server.port, '127.0.0.1');
    for (const each of [socket, upstream]) each.on('error', () => undefined);
    socket.pipe(upstream).pipe(socket);
  });
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  try {
    const { port } = secure.address() as { port: number };
    const trusting = QuotadbClient.open({ host: 'localhost', port, tls: { ca: material.cert } });
    expect(await trusting.increment(freshKey())).toBe(1);
    await trusting.close();
    const failures: Error[] = [];
    const wary = QuotadbClient.open({
      host: 'localhost',
      port,
      tls: true,
      timeoutMs: 200,
      onConnectionError: (error) => failures.push(error),
    });
    await expect(wary.ping()).rejects.toBeInstanceOf(TimeoutError);
    expect(failures[0]?.message).toContain('self-signed certificate');
    await wary.close();
  } finally {
    secure.close();
    await rm(folder, { recursive: true });
  }
});

describeWindowCounterStore('QuotadbWindowStore with @quotadb/client', async () => {
  const own = await startTestServer();
  const made: QuotadbClient<number>[] = [];
  const another = () => {
    const client = QuotadbClient.open({ port: own.port, reconnectAfterMs: () => undefined });
    made.push(client);
    return new QuotadbWindowStore({ client });
  };
  return {
    store: another(),
    another,
    keptForMs: CELL_MARGIN_MS + 1_000,
    breakDown: () => own.stop(),
    close: async () => {
      await Promise.all(made.map((client) => client.close()));
      await own.stop();
    },
  };
});
