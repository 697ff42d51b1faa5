import { afterEach, expect, test, vi } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let cluster: TestRegions;
afterEach(() => cluster.close());

test('members that reach the home through a relay join, and a change of members names the servers that it waits for', async () => {
  cluster = await TestRegions.make(['us/a', 'us/b', 'us/c', 'eu'], {
    dials: [
      ['us/a', 'eu'],
      ['us/b', 'eu'],
      ['us/c', 'eu'],
    ],
    flags: ['--home', 'us/a'],
  });
  const home = () => cluster.call('us/a', 'QUOTA.HOME');
  await cluster.start('us/a');
  await cluster.start('eu');
  await cluster.allConnected();
  expect(await cluster.call('us/a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', '1d')).toBe('+OK\r\n');
  await cluster.start('us/b');
  // Neither has a link to the other: eu says which policies us/b holds.
  await eventually(async () => expect(await home()).toContain('us: us/a us/b\r\n'));
  await cluster.kill('us/b');
  await cluster.start('us/c');
  await eventually(async () => expect(await home()).toMatch(/members-wait-for\r\n\$\d+\r\nus: us\/b\r\n/));
  await cluster.start('us/b');
  await eventually(async () => expect(await home()).toContain('us: us/a us/b us/c\r\n'));
  expect(await home()).toMatch(/members-wait-for\r\n\$0\r\n/);
});
