import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';
import { startLoad } from '../testing/member-load.js';

const NAMES = ['us/a', 'us/b', 'eu'];
const MEMBERS = ['us/a', 'us/b'];
const CLIENTS = 8;
const KILLS = 20;
const SOME = 100;
const PATIENCE_MS = 1_200_000;
const LIMIT = 1_000_000;

let cluster: TestRegions;
let directory: string;
afterEach(async () => {
  await cluster.close();
  await rm(directory, { recursive: true, force: true });
});

test.each([
  { title: 'with --data', flags: ['--fsync', '10'], hasDisk: true },
  { title: 'in memory, with --replicate-before-reply 1', flags: ['--replicate-before-reply', '1'], hasDisk: false },
])(
  'twenty kills of members under load lose nothing that was acknowledged, and no quota is exceeded: $title',
  async ({ flags, hasDisk }) => {
    directory = await mkdtemp(join(tmpdir(), 'quotadb-members-'));
    const data = (name: string) => (hasDisk ? ['--data', join(directory, name.replace('/', '-'))] : []);
    cluster = await TestRegions.make(NAMES, { flags: [...flags, '--home', 'us', '--clock-skew-bound', '1000'] });
    await cluster.startAll(data);
    await cluster.allConnected();
    await cluster.call('us/b', 'QUOTA.DEFINE', 'calls', 'LIMIT', LIMIT, 'WINDOW', '1d');
    const gapsMs: number[] = [];
    let [attempted, acknowledged, taken] = [0, 0, 0];
    for (let kill = 0; kill < KILLS; kill++) {
      const victim = MEMBERS[kill % MEMBERS.length];
      const survivor = MEMBERS[(kill + 1) % MEMBERS.length];
      // A server that is started anew has another port.
      const ports = MEMBERS.map((name) => cluster.of(name).ready.resp);
      const load = startLoad(ports, CLIENTS, 'n');
      await eventually(async () => expect(load.acknowledged).toBeGreaterThan(SOME));
      await cluster.kill(victim);
      const before = load.acknowledged;
      await eventually(async () => expect(load.acknowledged).toBeGreaterThan(before + SOME));
      const unseen = await cluster.call(survivor, 'QUOTA.TAKE', 'calls', `unseen-${kill}`, 1, 'WAIT', 1000);
      if (unseen.startsWith('*5\r\n:1\r\n')) taken++;
      await load.stop();
      gapsMs.push(...load.longestGapsMs.filter((_, index) => index % MEMBERS.length === kill % MEMBERS.length));
      attempted += load.attempted;
      acknowledged += load.acknowledged;
      await cluster.start(victim, data(victim));
      await cluster.allConnected();
    }
    await eventually(async () => {
      const values = await Promise.all(NAMES.map((name) => cluster.value(name, 'n')));
      expect(new Set(values).size).toBe(1);
      expect(values[0]).toBeGreaterThanOrEqual(acknowledged);
      expect(values[0]).toBeLessThanOrEqual(attempted);
    });
    // In memory both members have lost the start of the window by now; with a disk neither has.
    if (hasDisk) expect(taken).toBe(KILLS);
    gapsMs.sort((one, other) => one - other);
    const at = (part: number) => Math.round(gapsMs[Math.floor((gapsMs.length - 1) * part)]);
    process.stdout.write(`longest wait of a client of the killed member, ms: p50 ${at(0.5)}, worst ${at(1)}\n`);
  },
  PATIENCE_MS,
);
