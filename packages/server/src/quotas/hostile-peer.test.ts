import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type PolicySet, writeEnvelope } from '@quotadb/quota';
import { replicaIdOf } from '@quotadb/replication';
import { FrameKind } from '@quotadb/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CertifiedRegion, CertifiedRegions, eventually } from '../testing/index.js';

/** A region with a certificate of its own, which may not relay, says things that are not its to say. */
const HOUR_MS = 3_600_000;
let regions: CertifiedRegions;

beforeEach(async () => {
  regions = await CertifiedRegions.make(['a', 'b']);
});
afterEach(() => regions.close());

async function knownSet(region: string): Promise<PolicySet> {
  return (
    JSON.parse(await readFile(join(regions.directory, region, 'quotas.json'), 'utf8')) as { book: { set: PolicySet } }
  ).book.set;
}

async function refusals({ server }: CertifiedRegion): Promise<string> {
  const { status, text } = await fetch(`http://127.0.0.1:${server.httpPort}/metrics`).then(async (answer) => ({
    status: answer.status,
    text: await answer.text(),
  }));
  expect(status).toBe(200);
  return text;
}

test('policies of a region that is not their home are refused by all, whatever their version, and shown', async () => {
  const home = await regions.start('a');
  const other = await regions.start('b', [{ region: 'a', port: home.port }]);
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.LIST')).toContain('calls'));
  const before = await knownSet('a');
  const raised = before.policies.map((policy) => ({ ...policy, limit: 1_000_000 }));
  const versions = [Number.MAX_SAFE_INTEGER, Date.now() + 1000, before.version + 1];
  for (const region of [home, other]) {
    const say = await regions.greet(region === home ? 'a' : 'b', region.port);
    const stolen = (
      JSON.parse(await readFile(join(regions.directory, 'b', 'quotas.json'), 'utf8')) as { book: { seal: never } }
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
  expect(await home.client.call('QUOTA.TAKE', 'calls', 's', 101)).toMatch(/^\*5\r\n:0\r\n.*:-1\r\n$/s);
  // The home starts again, and its changes reach the others.
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 50, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.INFO', 'calls')).toContain(':50\r\n'));
  await home.server.stop();
  const again = await regions.start('a');
  expect(await again.client.call('QUOTA.INFO', 'calls')).toContain(':50\r\n');
});

test('other frames that are not true are refused, and the server goes on', async () => {
  const home = await regions.start('a');
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  const [{ number }] = (await knownSet('a')).policies;
  const say = await regions.greet('a', home.port);
  const wanted = {
    kind: FrameKind.tokensWanted,
    origin: Buffer.concat([replicaIdOf(CertifiedRegions.CLUSTER, 'evil'), Buffer.alloc(16, 8)]),
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
  say({
    ...wanted,
    fromRegion: 'b',
    origin: Buffer.concat([replicaIdOf(CertifiedRegions.CLUSTER, 'b'), Buffer.alloc(16, 8)]),
  });
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
  const gift = { kind: 'extra', name: 'calls', subject: 'cw==', amount: 5, by: 'eve' };
  change({ to: 'a', hops: 0, request: { ...gift, amount: -5 } });
  change({ to: 'a', hops: 0, request: { ...gift, subject: 7 } });
  change({ to: 'a', hops: 0, request: { ...gift, by: 'x'.repeat(300) } });
  change({ to: 'a', hops: 0, request: { ...gift, kind: 'reset', region: 'b' } });
  change({ to: 'a', hops: 0, request: { kind: 'catalogue' } });
  await eventually(async () => {
    const text = await refusals(home);
    expect(text).toContain('{peer="evil",frame="tokensWanted"} 2');
    expect(text).toContain('{peer="evil",frame="policyChange"} 12');
  });
  expect(await home.client.call('QUOTA.TAKE', 'calls', 's', 100)).toMatch(/^\*5\r\n:1\r\n/);
});

test('a home that lost its directory takes back the policies that it has sealed itself', async () => {
  const home = await regions.start('a');
  const other = await regions.start('b', [{ region: 'a', port: home.port }]);
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.LIST')).toContain('calls'));
  await home.server.stop();
  await rm(join(regions.directory, 'a'), { recursive: true });
  const again = await regions.start('a', [{ region: 'b', port: other.port }]);
  await eventually(async () => expect(await again.client.call('QUOTA.LIST')).toContain('calls'));
  await again.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 70, 'WINDOW', HOUR_MS);
  await eventually(async () => expect(await other.client.call('QUOTA.INFO', 'calls')).toContain(':70\r\n'));
});
