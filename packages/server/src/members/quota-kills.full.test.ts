import { afterEach, expect, test, vi } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const MEMBERS = ['us/a', 'us/b'];
const LIMIT = 100_000;
const CLIENTS = 8;
/** Acknowledged before a kill. */
const SOME = 400;

let cluster: TestRegions;
afterEach(() => cluster.close());

const isAllowed = (reply: string) => reply.startsWith('*5\r\n:1\r\n');

/** Takes one token after another, each under an ID of its own, until the member is gone. */
async function take(client: number, acknowledged: string[]): Promise<void> {
  const connection = await TestClient.open(cluster.of('us/a').ready.resp);
  for (let at = 0; ; at++) {
    const id = `${client}-${at}`;
    const reply = await connection.call('QUOTA.TAKE', 'calls', 's', 1, 'ID', id).catch(() => undefined);
    if (reply === undefined) break;
    if (isAllowed(reply)) acknowledged.push(id);
  }
  connection.close();
}

async function remaining(name: string): Promise<number> {
  const reply = await cluster.call(name, 'QUOTA.PEEK', 'calls', 's');
  return Number(reply.split('\r\n')[2].slice(1));
}

test('what a killed member in memory has acknowledged of a quota is known to the other: no token is taken twice', async () => {
  cluster = await TestRegions.start(MEMBERS, { flags: ['--home', 'us/b', '--replicate-before-reply', '1'] });
  await cluster.allConnected();
  expect(await cluster.call('us/b', 'QUOTA.DEFINE', 'calls', 'LIMIT', LIMIT, 'WINDOW', '1d')).toBe('+OK\r\n');
  await eventually(async () => expect(await cluster.call('us/a', 'QUOTA.LIST')).toContain('calls'));
  const acknowledged: string[] = [];
  const running = Array.from({ length: CLIENTS }, (_, client) => take(client, acknowledged));
  await eventually(async () => expect(acknowledged.length).toBeGreaterThan(SOME));
  await cluster.kill('us/a');
  await Promise.all(running);
  // Back, and empty: the other one has a server to replicate to again.
  await cluster.start('us/a');
  await cluster.allConnected();
  const before = await remaining('us/b');
  // A client that lost its connection repeats what it asked for: that is known, so it is answered and not taken again.
  for (const id of acknowledged) {
    const reply = await cluster.call('us/b', 'QUOTA.TAKE', 'calls', 's', 1, 'ID', id);
    expect(isAllowed(reply), reply).toBe(true);
  }
  expect(await remaining('us/b')).toBe(before);
});
