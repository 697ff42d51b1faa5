import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

const NAMES = ['a', 'b', 'c'];
const LIMIT = 5000;
const ROUNDS = 12;
const CLIENTS = 8;
const PATIENCE_MS = 600_000;

/** Calls until it is stopped or the server is gone; counts the allowed calls. */
async function hammer(port: number, isOver: () => boolean): Promise<number> {
  const client = await TestClient.open(port).catch(() => undefined);
  if (client === undefined) return 0;
  let allowed = 0;
  while (!isOver()) {
    const reply = await client.call('QUOTA.TAKE', 'calls', 's', 1, 'WAIT', 100).catch(() => undefined);
    if (reply === undefined) break;
    if (reply.startsWith('*5\r\n:1\r\n')) allowed++;
  }
  client.close();
  return allowed;
}

test(
  'three regions that are killed and cut off at random under load never allow one too many',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-quota-long-'));
    const cluster = await TestRegions.make(NAMES);
    const flagsOf = (name: string) => ['--data', join(directory, name), '--transport', 'auto', '--lanes', '2'];
    try {
      await cluster.startAll(flagsOf);
      await cluster.allConnected();
      await cluster.call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', LIMIT, 'WINDOW', 24 * 3_600_000, 'ALLOCATOR', 'b');
      for (const name of NAMES)
        await eventually(async () => expect(await cluster.call(name, 'QUOTA.LIST')).toContain('calls'));
      let allowed = 0;
      for (let round = 0; round < ROUNDS; round++) {
        let isOver = false;
        // Most of the load is in one region, another one in every round.
        const busy = NAMES[round % NAMES.length];
        const loads = NAMES.flatMap((name) =>
          Array.from({ length: name === busy ? CLIENTS : 1 }, () => hammer(cluster.of(name).ready.resp, () => isOver)),
        );
        const victim = NAMES[(round * 7 + 1) % NAMES.length];
        if (round % 3 === 0) {
          await cluster.kill(victim);
          await cluster.start(victim, flagsOf(victim));
        } else {
          cluster.cut(victim, NAMES[(round * 7 + 2) % NAMES.length]);
          await cluster.call(victim, 'QUOTA.TAKE', 'calls', 'another', 1, 'WAIT', 1000);
          cluster.heal(victim, NAMES[(round * 7 + 2) % NAMES.length]);
        }
        await cluster.allConnected();
        isOver = true;
        allowed += (await Promise.all(loads)).reduce((sum, count) => sum + count, 0);
        expect(allowed).toBeLessThanOrEqual(LIMIT);
      }
      expect(allowed).toBeGreaterThan(0);
    } finally {
      await cluster.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
  PATIENCE_MS,
);
