import { afterEach, describe, expect, test, vi } from 'vitest';
import { encodeCommand, eventually, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions;
afterEach(() => regions.close());

/** Increments of several keys, in every region, without waiting in between. */
async function countEverywhere(rounds: number, ...keys: string[]): Promise<void> {
  await Promise.all(
    regions.names.map(async (name) => {
      const { client } = regions.of(name);
      client.write(keys.map((key) => encodeCommand('INCR', key).repeat(rounds)).join(''));
      for (let reply = 0; reply < rounds * keys.length; reply++) expect(await client.reply()).toMatch(/^:\d+\r\n$/);
    }),
  );
}

describe('three regions that all dial each other', () => {
  test('count together: every increment is in every region, once; WAIT and INFO say so', async () => {
    regions = await TestRegions.start(['us', 'eu', 'ap']);
    await countEverywhere(500, 'a', 'b');
    await regions.agreeOn('a', 1500);
    await regions.agreeOn('b', 1500);
    await regions.call('us', 'INCR', 'a');
    expect(await regions.call('us', 'WAIT', 2, 20_000)).toBe(':2\r\n');
    for (const name of ['eu', 'ap']) expect(await regions.value(name, 'a')).toBe(1501);
    await regions.allConnected();
    expect(await regions.call('us', 'INFO', 'replication')).toContain('connected_slaves:2\r\n');
    // Of the link there is now, which may be younger than the counts above.
    await regions.call('eu', 'INCR', 'b');
    await eventually(async () => expect(Number((await regions.peer('us', 'eu')).components_in)).toBeGreaterThan(0));
    const peer = await regions.peer('us', 'eu');
    expect(Number(peer.rtt_ms)).toBeGreaterThanOrEqual(0);
    // Both have dialed, and one link was given up for the other: nothing is wrong with that.
    expect(peer.refused).toBe('0');
    await eventually(async () => expect((await regions.peer('us', 'eu')).lag_shards).toBe('0'));
    expect((await regions.call('us', 'REPL.SHARDS', 'eu')).startsWith('*64\r\n*4\r\n:0\r\n')).toBe(true);
  });

  test('WAIT for more members than there are ends with its time, and replies with their number', async () => {
    regions = await TestRegions.start(['us', 'eu']);
    await regions.connected('us', 'eu');
    await regions.call('us', 'INCR', 'a');
    await regions.call('us', 'WAIT', 1, 20_000);
    expect(await regions.call('us', 'WAIT', 5, 50)).toBe(':1\r\n');
  });

  test('what is deleted and set in one region is so in all', async () => {
    regions = await TestRegions.start(['us', 'eu', 'ap']);
    await countEverywhere(10, 'a');
    await regions.agreeOn('a', 30);
    await regions.call('eu', 'SET', 'a', 7);
    await regions.agreeOn('a', 7);
    await regions.call('ap', 'DEL', 'a');
    await regions.agreeOn('a', 0);
    for (const name of regions.names) expect(await regions.call(name, 'EXISTS', 'a')).toBe(':0\r\n');
  });

  test('a cut network holds up no client; when it is back, the changes of both sides count once', async () => {
    regions = await TestRegions.start(['us', 'eu', 'ap']);
    await regions.allConnected();
    await countEverywhere(10, 'a');
    await regions.agreeOn('a', 30);
    regions.cut('us', 'eu');
    regions.cut('us', 'ap');
    await regions.call('us', 'INCRBY', 'a', 1000);
    await regions.call('eu', 'INCRBY', 'a', 100);
    await eventually(async () => expect(await regions.value('ap', 'a')).toBe(130));
    expect(await regions.value('us', 'a')).toBe(1030);
    // A reset behind the cut takes away what it has seen, and no more.
    await regions.call('us', 'DEL', 'a');
    regions.heal('us', 'eu');
    regions.heal('us', 'ap');
    await regions.agreeOn('a', 100);
  });
});

describe('five regions', () => {
  test('around a hub: what one spoke counts reaches the others through it', async () => {
    const spokes = ['a', 'b', 'c', 'd'];
    regions = await TestRegions.start(['hub', ...spokes], { dials: spokes.map((spoke) => [spoke, 'hub'] as const) });
    await countEverywhere(100, 'k');
    await regions.agreeOn('k', 500);
    await regions.call('a', 'DEL', 'k');
    await regions.agreeOn('k', 0);
  });

  test('in a chain: from one end to the other, also after one in the middle was killed and lost its data', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    regions = await TestRegions.start(names, {
      dials: names.slice(1).map((name, index) => [names[index], name] as const),
    });
    await countEverywhere(50, 'k');
    await regions.agreeOn('k', 250);
    await regions.kill('c');
    await regions.call('a', 'INCR', 'k');
    await regions.call('e', 'INCR', 'k');
    await regions.start('c');
    await regions.agreeOn('k', 252);
  });
});

test('a region on one lane starts to lock when its first peer comes, under load', async () => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']] });
  await regions.start('us', ['--transport', 'epoll', '--lanes', '1']);
  const rounds = 20_000;
  const { client } = regions.of('us');
  client.write(encodeCommand('INCR', 'k').repeat(rounds));
  await regions.start('eu');
  const { client: other } = regions.of('eu');
  other.write(encodeCommand('INCR', 'k').repeat(rounds));
  for (let reply = 0; reply < rounds; reply++) {
    await client.reply();
    await other.reply();
  }
  await regions.agreeOn('k', 2 * rounds);
});
