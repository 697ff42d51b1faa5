import { CELL_MARGIN_MS } from '@quotadb/rate';
import { QuotadbWindowStore } from '@quotadb/windows';
import { describeWindowCounterStore } from '@quotadb/windows/conformance';
import { Redis } from 'ioredis';
import { createClient, RESP_TYPES } from 'redis';
import { expect, test } from 'vitest';
import { startTestServer } from '../testing/index.js';

/** Dropped by the tick after its expiry. */
const KEPT_FOR_MS = CELL_MARGIN_MS + 1_000;

describeWindowCounterStore('QuotadbWindowStore with ioredis', async () => {
  const server = await startTestServer();
  const clients: Redis[] = [];
  const open = () => {
    const client = new Redis(server.port, { stringNumbers: true, retryStrategy: () => null });
    clients.push(client.on('error', () => undefined));
    return client;
  };
  const another = () => new QuotadbWindowStore({ client: open() });
  const looker = open();
  return {
    store: another(),
    another,
    keptForMs: KEPT_FOR_MS,
    held: async () => Number(await looker.dbsize()),
    breakDown: () => server.stop(),
    close: async () => {
      for (const client of clients) client.disconnect();
      await server.stop();
    },
  };
});

describeWindowCounterStore('QuotadbWindowStore with node-redis', async () => {
  const server = await startTestServer();
  const open = async () => {
    const socket = { port: server.port, reconnectStrategy: false } as const;
    const commandOptions = { typeMapping: { [RESP_TYPES.NUMBER]: String } };
    const client = createClient({ socket, commandOptions }).on('error', () => undefined);
    await client.connect();
    return client;
  };
  const clients: Awaited<ReturnType<typeof open>>[] = [];
  const another = async () => {
    const client = await open();
    clients.push(client);
    return new QuotadbWindowStore({ client: client });
  };
  return {
    store: await another(),
    another,
    keptForMs: KEPT_FOR_MS,
    breakDown: () => server.stop(),
    close: async () => {
      for (const client of clients) if (client.isOpen) client.destroy();
      await server.stop();
    },
  };
});

test('a client that loses digits is found out, not believed', async () => {
  const server = await startTestServer();
  const client = new Redis(server.port);
  const store = new QuotadbWindowStore({ client: client });
  const window = { startMs: Date.now(), durationMs: 60_000 };
  await expect(store.increment('key', window, 2n ** 53n + 1n)).rejects.toThrow('lost digits');
  client.disconnect();
  await server.stop();
});
