import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Batch } from '@quotadb/engine';
import { type PolicySet, writeEnvelope } from '@quotadb/quota';
import { replicaIdOf } from '@quotadb/replication';
import { AUTHORITY, filesOf, initDirectory, issueInto } from '@quotadb/replication/certificates';
import { loadTlsMaterial } from '@quotadb/replication/grpc';
import { GrpcNetwork } from '@quotadb/replication/mesh';
import { decodeFrame, encodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, startTestServer, TestClient, type TestServer } from '../testing/index.js';

/** A region with a certificate of its own, which may not relay, says things that are not its to say. */
const HOUR_MS = 3_600_000;
const CLUSTER = 'orders';
const opened: (() => unknown)[] = [];
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-hostile-'));
  opened.push(() => rm(directory, { recursive: true }));
  const out = join(directory, 'ca');
  await initDirectory(out, CLUSTER, 1);
  for (const region of ['a', 'b', 'evil'])
    await issueInto({ directory: out, out, region, hosts: [], mayRelay: false, days: 1 });
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const filesFor = (region: string) => {
  const path = join(directory, 'ca');
  return { ...filesOf(path, region), caFile: filesOf(path, AUTHORITY).certFile };
};

interface Region {
  readonly server: TestServer;
  readonly client: TestClient;
  readonly port: number;
}

async function start(region: string, peers: readonly { region: string; port: number }[] = []): Promise<Region> {
  const { certFile, keyFile, caFile } = filesFor(region);
  const server = await startTestServer({
    region,
    cluster: CLUSTER,
    home: 'a',
    dataDirectory: join(directory, region),
    replicationPort: 0,
    replicationCertificate: certFile,
    replicationKey: keyFile,
    replicationAuthority: caFile,
    peers: peers.map((peer) => ({ ...peer, host: '127.0.0.1' })),
  });
  opened.push(() => server.stop());
  const client = await TestClient.open(server.port);
  opened.push(() => client.close());
  return { server, client, port: server.server.state.identity.replicationPort as number };
}

/** Greets as region `evil`, and returns a function that sends anything. */
async function greet(region: string, port: number): Promise<(frame: Frame) => void> {
  const network = new GrpcNetwork({
    host: '127.0.0.1',
    port: -1,
    tls: await loadTlsMaterial(filesFor('evil')),
    allowsPlaintext: false,
  });
  const origin = Buffer.concat([replicaIdOf(CLUSTER, 'evil'), Buffer.alloc(16, 7)]);
  return new Promise((resolve, reject) => {
    network.dial(
      { region, host: '127.0.0.1', port },
      {
        failed: reject,
        opened: (stream) => {
          opened.push(() => stream.close());
          stream.onFrame = (bytes) => {
            const frame = decodeFrame(bytes, new Batch());
            if (frame.kind !== FrameKind.hello) return;
            stream.send(encodeFrame({ ...frame, region: 'evil', origin, keys: 0 }));
            resolve((said) => stream.send(encodeFrame(said)));
          };
        },
      },
    );
  });
}

async function knownSet(region: string): Promise<PolicySet> {
  return (JSON.parse(await readFile(join(directory, region, 'quotas.json'), 'utf8')) as { book: { set: PolicySet } })
    .book.set;
}

async function refusals({ server }: Region): Promise<string> {
  const { status, text } = await fetch(`http://127.0.0.1:${server.httpPort}/metrics`).then(async (answer) => ({
    status: answer.status,
    text: await answer.text(),
  }));
  expect(status).toBe(200);
  return text;
}

test('policies of a region that is not their home are refused by all, whatever their version, and shown', async () => {
  const home = await start('a');
  const other = await start('b', [{ region: 'a', port: home.port }]);
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.LIST')).toContain('calls'));
  const before = await knownSet('a');
  const raised = before.policies.map((policy) => ({ ...policy, limit: 1_000_000 }));
  const versions = [Number.MAX_SAFE_INTEGER, Date.now() + 1000, before.version + 1];
  for (const region of [home, other]) {
    const say = await greet(region === home ? 'a' : 'b', region.port);
    const stolen = (
      JSON.parse(await readFile(join(directory, 'b', 'quotas.json'), 'utf8')) as { book: { seal: never } }
    ).book.seal;
    for (const version of versions)
      for (const seal of [undefined, stolen, { certificate: 'none', signature: 'none' }])
        say(
          writeEnvelope({ home: 'a', hasDisk: true, set: { ...before, version, policies: raised }, seal, reaches: [] }),
        );
    for (const body of ['', '{', 'null', '{"home":"a","hasDisk":true,"set":{}}'])
      say({ kind: FrameKind.policies, version: 1, body: Buffer.from(body) });
    await eventually(async () =>
      expect(await refusals(region)).toContain('quotadb_quota_frames_refused_total{peer="evil",frame="policies"} 13'),
    );
    expect(await region.client.call('QUOTA.HOME')).toMatch(/evil: version \d+, .*(seal|changed)/);
  }
  expect(await knownSet('a')).toEqual(before);
  expect(await knownSet('b')).toEqual(before);
  const take = await home.client.call('QUOTA.TAKE', 'calls', 's', 101);
  expect(take).toMatch(/beyond the limit of 100/);
  // The home starts again, and its changes reach the others.
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 50, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.INFO', 'calls')).toContain(':50\r\n'));
  await home.server.stop();
  const again = await start('a');
  expect(await again.client.call('QUOTA.INFO', 'calls')).toContain(':50\r\n');
});

test('other frames that are not true are refused, and the server goes on', async () => {
  const home = await start('a');
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  const [{ number }] = (await knownSet('a')).policies;
  const say = await greet('a', home.port);
  const wanted = {
    kind: FrameKind.tokensWanted,
    origin: Buffer.concat([replicaIdOf(CLUSTER, 'evil'), Buffer.alloc(16, 8)]),
    fromRegion: 'evil',
    toRegion: 'a',
    request: 1,
    policy: number,
    policiesVersion: 1,
    window: Math.floor(Date.now() / HOUR_MS),
    subject: Buffer.from('s'),
    need: 100,
    hops: 0,
  } as const;
  say(wanted);
  say({ ...wanted, fromRegion: 'b', origin: Buffer.concat([replicaIdOf(CLUSTER, 'b'), Buffer.alloc(16, 8)]) });
  const change = (body: object | string) =>
    say({
      kind: FrameKind.policyChange,
      request: 1,
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    });
  for (const body of ['', '[]', '{"to":"a"}']) change(body);
  change({ to: 'a', hops: 0, request: { kind: 'take', items: [] } });
  change({ to: 'a', hops: -1, request: { kind: 'drop', name: 'calls' } });
  change({ to: 'a', hops: 0, request: { kind: 'commit', reservation: {}, actual: 1 } });
  change({ to: 'a', hops: 0, request: { kind: 'release', lease: 'x@b' } });
  await eventually(async () => {
    const text = await refusals(home);
    expect(text).toContain('{peer="evil",frame="tokensWanted"} 2');
    expect(text).toContain('{peer="evil",frame="policyChange"} 7');
  });
  expect(await home.client.call('QUOTA.TAKE', 'calls', 's', 100)).toMatch(/^\*5\r\n:1\r\n/);
});

test('a home that lost its directory takes back the policies that it has sealed itself', async () => {
  const home = await start('a');
  const other = await start('b', [{ region: 'a', port: home.port }]);
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.LIST')).toContain('calls'));
  await home.server.stop();
  await rm(join(directory, 'a'), { recursive: true });
  const again = await start('a', [{ region: 'b', port: other.port }]);
  await eventually(async () => expect(await again.client.call('QUOTA.LIST')).toContain('calls'));
  await again.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 70, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.INFO', 'calls')).toContain(':70\r\n'));
});
