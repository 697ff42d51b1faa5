import { Acknowledgements, ByteInput, Engine, joinInt64, splitInt64 } from '@quotadb/engine';
import { afterEach, expect, test, vi } from 'vitest';
import { replicaIdOf } from '../identity.js';
import type { Link } from '../link.js';
import { Replica } from '../replica.js';
import { GrpcNetwork } from './grpc-network.js';
import { Mesh, type MeshEvents } from './mesh.js';

interface Node {
  readonly mesh: Mesh;
  readonly engine: Engine;
  readonly port: number;
}

const meshes: Mesh[] = [];
afterEach(async () => {
  await Promise.all(meshes.splice(0).map((mesh) => mesh.stop()));
});

async function start(region: string, events: Partial<MeshEvents> = {}, port = 0): Promise<Node> {
  const origin = new Uint8Array(32).fill(7);
  origin.set(replicaIdOf('test', region));
  const engine = Engine.format({ maxMemoryBytes: 8 * 1024 * 1024, origin, nowMs: Date.now(), shardCount: 4 });
  const mesh = new Mesh({
    network: new GrpcNetwork({ host: '127.0.0.1', port, allowsPlaintext: false }),
    makeReplica: async (replicaEvents) =>
      new Replica({
        engine,
        identity: { cluster: 'test', region, origin, agreements: [] },
        clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now(), nowMs: () => Date.now() },
        acknowledgements: new Acknowledgements(engine),
        events: replicaEvents,
      }),
    intervalMs: 1,
    random: () => 0.5,
    events,
  });
  meshes.push(mesh);
  return { mesh, engine, port: await mesh.listen() };
}

function add({ engine }: Node, key: string, amount: bigint): void {
  withKey(engine, key, () => engine.add(...splitInt64(amount)));
}

function value({ engine }: Node, key: string): bigint {
  return withKey(engine, key, () => joinInt64(engine.valueHigh, engine.valueLow));
}

function withKey<T>(engine: Engine, key: string, work: () => T): T {
  engine.open(ByteInput.copyOf(Buffer.from(key)), 0, key.length);
  try {
    return work();
  } finally {
    engine.close();
  }
}

const eventually = (expectation: () => void) => vi.waitFor(expectation, { timeout: 20_000, interval: 5 });
const at = (region: string, { port }: Node) => ({ region, host: '127.0.0.1', port });

test('there is no replica before there is a peer', async () => {
  const us = await start('us');
  expect(us.mesh.replica).toBeUndefined();
  const eu = await start('eu');
  await eu.mesh.addPeer(at('us', us));
  await eventually(() => expect(us.mesh.replica?.isConnected('eu')).toBe(true));
});

test('two that dial each other end up with one link, and both hold the counts of both', async () => {
  const us = await start('us');
  const eu = await start('eu');
  await Promise.all([us.mesh.addPeer(at('eu', eu)), eu.mesh.addPeer(at('us', us))]);
  add(us, 'k', 3n);
  add(eu, 'k', 4n);
  await eventually(() => {
    for (const node of [us, eu]) {
      expect(value(node, 'k')).toBe(7n);
      expect(node.mesh.replica?.links.size).toBe(1);
    }
  });
});

test('a region that is not there yet is dialed until it is', async () => {
  const failures: string[] = [];
  const us = await start('us', { dialFailed: (_, error) => failures.push(error.message) });
  const eu = await start('eu');
  await eu.mesh.stop();
  await us.mesh.addPeer(at('eu', eu));
  await eventually(() => expect(failures.length).toBeGreaterThan(1));
  expect(failures[0]).toContain('no server listens');
  const again = await start('eu', {}, eu.port);
  add(us, 'k', 1n);
  await eventually(() => expect(value(again, 'k')).toBe(1n));
});

test('a defect met while one link is served ends that link, is reported, and affects no other', async () => {
  const faults: [Link | undefined, unknown][] = [];
  const us = await start('us', { fault: (link, error) => faults.push([link, error]) });
  const eu = await start('eu');
  const ap = await start('ap');
  await us.mesh.addPeer(at('eu', eu));
  await us.mesh.addPeer(at('ap', ap));
  await eventually(() => expect(us.mesh.replica?.isConnected('eu') && us.mesh.replica.isConnected('ap')).toBe(true));
  const replica = us.mesh.replica as Replica;
  const link = replica.members.get('eu')?.link as Link;
  const other = replica.members.get('ap')?.link as Link;
  vi.spyOn(link, 'receive').mockImplementation(() => {
    throw new Error('a mistake');
  });
  add(eu, 'k', 1n);
  await eventually(() => expect(faults).toEqual([[link, expect.objectContaining({ message: 'a mistake' })]]));
  expect(other.isEstablished).toBe(true);
  // And it is dialed again, after which all is well.
  await eventually(() => expect(value(us, 'k')).toBe(1n));
  expect(replica.members.get('eu')?.link).not.toBe(link);
});

test('a defect that concerns no single peer makes all links begin anew', async () => {
  const faults: unknown[] = [];
  const us = await start('us', { fault: (_, error) => faults.push(error) });
  const eu = await start('eu');
  await us.mesh.addPeer(at('eu', eu));
  await eventually(() => expect(us.mesh.replica?.isConnected('eu')).toBe(true));
  vi.spyOn(us.mesh.replica as Replica, 'tick').mockImplementationOnce(() => {
    throw new Error('a mistake');
  });
  await eventually(() => expect(faults).toHaveLength(1));
  add(us, 'k', 2n);
  await eventually(() => expect(value(eu, 'k')).toBe(2n));
});

test('a peer that was removed is not dialed and not let in, until it is added again', async () => {
  const refusals: string[] = [];
  const us = await start('us');
  const eu = await start('eu', { refused: (_, { code }) => refusals.push(code) });
  await us.mesh.addPeer(at('eu', eu));
  await eventually(() => expect(us.mesh.replica?.isConnected('eu')).toBe(true));
  expect(await us.mesh.removePeer('eu')).toBe(true);
  expect(await us.mesh.removePeer('xx')).toBe(false);
  await eventually(() => expect(us.mesh.replica?.links.size).toBe(0));
  await eu.mesh.addPeer(at('us', us));
  await eventually(() => expect(refusals.filter((code) => code === 'removed').length).toBeGreaterThan(1));
  expect(us.mesh.replica?.isConnected('eu')).toBe(false);
  await us.mesh.addPeer(at('eu', eu));
  await eventually(() => expect(us.mesh.replica?.isConnected('eu')).toBe(true));
});

test('beyond this machine nothing is dialed in plaintext unless the operator allows it', async () => {
  const failures: string[] = [];
  const us = await start('us', { dialFailed: (_, error) => failures.push(error.message) });
  await us.mesh.addPeer({ region: 'eu', host: '192.0.2.1', port: 1 });
  await eventually(() => expect(failures[0]).toContain('needs certificates'));
  const open = new GrpcNetwork({ host: '0.0.0.0', port: 0, allowsPlaintext: false });
  await expect(open.listen({ stream: () => {}, refused: () => {} })).rejects.toThrow('needs certificates');
});
