import { decodeFrame, encodeFrame, FrameKind, type Hello } from '@quotadb/wire';
import { expect, test } from 'vitest';
import { type ProtocolRange, protocolFields, protocolRangeOf } from './protocol-versions.js';
import { TestCluster } from './testing/test-cluster.js';

/** The ranges that two regions speak; what became of their link. */
function connect(us: ProtocolRange, eu: ProtocolRange) {
  const refusals: string[] = [];
  const cluster = new TestCluster(['us', 'eu'], {
    protocols: { us, eu },
    events: { refused: (_, { code, message }, by) => refusals.push(`${by}: ${code}: ${message}`) },
  });
  const { links } = cluster.connect('us', 'eu');
  cluster.add('us', 'key', 5n);
  cluster.settle(1000);
  return { chosen: links.map((link) => link.protocol), value: cluster.value('eu', 'key'), refusals };
}

function hello(protocols: ProtocolRange): Hello {
  return {
    kind: FrameKind.hello,
    ...protocolFields(protocols),
    cluster: 'test',
    region: 'us',
    origin: new Uint8Array(32),
    shardCount: 64,
    agreements: [],
    nowMs: 0,
    keys: 0,
    boot: 0,
  };
}

test('a release that speaks one version and one that speaks more talk in the version they share', () => {
  const { chosen, value, refusals } = connect({ lowest: 1, highest: 1 }, { lowest: 1, highest: 3 });
  expect(refusals).toEqual([]);
  expect(chosen).toEqual([1, 1]);
  expect(value).toBe(5n);
});

test('two releases with ranges talk in the highest version that both speak', () => {
  const { chosen, value } = connect({ lowest: 2, highest: 5 }, { lowest: 3, highest: 9 });
  expect(chosen).toEqual([5, 5]);
  expect(value).toBe(5n);
});

test('without a version in common both sides refuse, and both name the two ranges', () => {
  const refusals = new Map<string, string>();
  const cluster = new TestCluster(['us', 'eu'], {
    protocols: { us: { lowest: 1, highest: 2 }, eu: { lowest: 3, highest: 4 } },
    events: { refused: (link, { code, message }) => refusals.set(link.region, `${code}: ${message}`) },
  });
  // Streams that stay open, as over a network: each side reads the hello of the other.
  const sent: Record<string, Uint8Array[]> = { us: [], eu: [] };
  const open = (region: string) =>
    cluster
      .node(region)
      .open(
        { isWritable: true, send: (frame) => sent[region].push(frame.slice()), close: () => {} },
        { isDialed: true, address: '' },
      );
  const us = open('us');
  const eu = open('eu');
  for (const frame of [...sent.us]) eu.receive(frame);
  for (const frame of [...sent.eu]) us.receive(frame);
  const ranges = (one: string, other: string) =>
    `protocol: region ${one} of the protocol, ${other}: upgrade the older of the two`;
  expect(Object.fromEntries(refusals)).toEqual({
    us: ranges('eu speaks versions 3 to 4', 'us versions 1 to 2'),
    eu: ranges('us speaks versions 1 to 2', 'eu versions 3 to 4'),
  });
  expect([us.isClosed, eu.isClosed]).toEqual([true, true]);
});

test('the released build, which compares the version field only, finds the lowest version there', () => {
  // What the build of release 0.1 reads: it skips fields that it does not know.
  const read = decodeFrame(encodeFrame(hello({ lowest: 1, highest: 4 }))) as Hello;
  expect(read.protocol).toBe(1);
  expect(protocolRangeOf(read)).toEqual({ lowest: 1, highest: 4 });
});

test('a hello without the field of the highest version means one version', () => {
  const read = decodeFrame(encodeFrame(hello({ lowest: 1, highest: 1 }))) as Hello;
  expect(read.highestProtocol).toBe(0);
  expect(protocolRangeOf(read)).toEqual({ lowest: 1, highest: 1 });
});
