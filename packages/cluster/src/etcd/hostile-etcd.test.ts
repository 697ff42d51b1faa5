import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { EtcdMapStore, type EtcdMapStoreOptions } from './etcd-map-store.js';

/** Answers as etcd would not, or not any more. */
type Conduct = (request: IncomingMessage, response: ServerResponse) => void;

const MAP = {
  revision: 1,
  groups: { red: { slots: '0-16383', members: [{ region: 'eu', host: '127.0.0.1', port: 6381 }] } },
};
const HEADER = { revision: '5' };
const found = (document: unknown) => ({
  header: HEADER,
  kvs: [
    {
      key: Buffer.from('/q/map').toString('base64'),
      create_revision: '2',
      mod_revision: '4',
      value: Buffer.from(JSON.stringify(document)).toString('base64'),
    },
  ],
});

const servers: Server[] = [];
const stores: EtcdMapStore[] = [];

async function serve(conduct: Conduct): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => conduct(request, response));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(urls: readonly string[], options: Partial<EtcdMapStoreOptions> = {}): EtcdMapStore {
  const store = new EtcdMapStore({ urls, prefix: '/q', leaseSeconds: 5, attemptMs: 300, ...options });
  stores.push(store);
  return store;
}

const json =
  (value: unknown, status = 200): Conduct =>
  (_, response) =>
    response.writeHead(status).end(JSON.stringify(value));
const good = json(found(MAP));

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const BAD: Readonly<Record<string, Conduct>> = {
  'says nothing': () => undefined,
  'ends the connection': (_, response) => response.destroy(),
  'answers half': (_, response) => {
    response.writeHead(200, { 'content-length': 1000 }).write('{"header":{"revision":"5"');
    response.destroy();
  },
  'begins to answer and stops': (_, response) => {
    response.writeHead(200).write('{"header":');
  },
  'answers for ever': (_, response) => {
    const chunk = 'x'.repeat(1024 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.writeHead(200).on('drain', more);
    more();
  },
  'answers with a page': (_, response) => response.writeHead(200).end('<html>welcome</html>'),
  'answers with something else': json({ header: 7, kvs: 'none' }),
  'has revisions that are none': json({ header: { revision: '99999999999999999999' } }),
  'has no leader': json({ error: 'etcdserver: no leader', code: 14 }, 503),
  'is a proxy without a server': (_, response) => response.writeHead(502).end('bad gateway'),
};

describe.each(Object.entries(BAD))('an etcd that %s', (_, conduct) => {
  test('is passed over for another', async () => {
    // A second good one, for a machine so busy that the first is too late.
    const urls = [await serve(conduct), await serve(good), await serve(good)];
    const store = open(urls, { attemptMs: 1000 });
    expect((await store.read())?.document).toEqual(MAP);
  });

  test('alone is not reachable, and the error names it', async () => {
    const url = await serve(conduct);
    await expect(open([url]).read()).rejects.toThrow(`etcd is not reachable: ${new URL(url).host} `);
  });
});

test('a refusal is no reason to ask another', async () => {
  let asked = 0;
  const refusing = await serve(json({ error: 'etcdserver: permission denied', code: 7 }, 403));
  const other = await serve((request, response) => {
    asked++;
    good(request, response);
  });
  await expect(open([refusing, other]).read()).rejects.toThrow('etcd refuses: etcdserver: permission denied');
  expect(asked).toBe(0);
});

test('a change whose first attempt was carried out and not answered is known to be done', async () => {
  // The first member carries it out and dies; the second one finds the map as it was to be.
  const next = { ...MAP, revision: 2 };
  const dying = await serve((_, response) => response.destroy());
  const after = await serve(json({ header: HEADER, responses: [{ response_range: found(next) }] }));
  expect(await open([dying, after]).replace({ document: MAP, version: 3 }, next)).toBe(true);
  const others = await serve(
    json({ header: HEADER, responses: [{ response_range: found({ ...next, paused: true }) }] }),
  );
  expect(await open([dying, others]).replace({ document: MAP, version: 3 }, next)).toBe(false);
  // Without such an attempt it was the work of another.
  expect(await open([after]).replace({ document: MAP, version: 3 }, next)).toBe(false);
});

test('a watch whose stream says nonsense, or nothing, hears of the newest map all the same', async () => {
  let revision = 1;
  const streams: Conduct[] = [
    (_, response) => response.writeHead(200).write('{"result":{"created":true}}\nnonsense\n'),
    (_, response) => response.writeHead(500).end(),
    (_, response) => response.writeHead(200).end('{"result":{"canceled":true,"compact_revision":"3"}}\n'),
    (_, response) => response.writeHead(200).write('{"result":{"created":true}}\n{"result":{"events":[{"kv":{}}]}}\n'),
    () => undefined,
    // From now on a stream that never reports anything.
    (_, response) => response.writeHead(200).write('{"result":{"created":true}}\n'),
  ];
  const url = await serve((request, response) => {
    if (request.url === '/v3/watch') return (streams.length > 1 ? streams.shift() : streams[0])?.(request, response);
    const answer = found({ ...MAP, revision });
    answer.kvs[0].mod_revision = String(revision);
    json(answer)(request, response);
  });
  const heard: number[] = [];
  open([url], { checkMs: 100 }).watch(({ document }) => heard.push(document.revision));
  for (; revision < 9; revision++) await expect.poll(() => heard.at(-1), { timeout: 10_000 }).toBe(revision);
  expect(streams.length).toBe(1);
  expect(heard).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});
