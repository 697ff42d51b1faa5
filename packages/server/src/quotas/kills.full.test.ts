import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

const NAMES = ['a', 'b', 'c'];
const LIMIT = 10_000;
const ROUNDS = 6;
const CLIENTS = 8;
/** Taken in each round before all nodes are killed, so that most of the limit is there to be lost. */
const TAKEN_EACH_ROUND = 300;
const PATIENCE_MS = 120_000;

/** docs/quotas.md: a kill wastes at most this part of the tokens that the node held for the subject, or this number. */
const WASTED_FRACTION = 1 / 32;
const WASTED_AT_LEAST = 32;

/** Takes until it is over or the server is gone. */
async function hammer(port: number, took: () => void, isOver: () => boolean): Promise<void> {
  const client = await TestClient.open(port);
  while (!isOver()) {
    const reply = await client.call('QUOTA.TAKE', 'seats', 's', 1, 'WAIT', 100).catch(() => undefined);
    if (reply === undefined) break;
    if (reply.startsWith('*5\r\n:1\r\n')) took();
  }
  client.close();
}

test(
  'killing all regions six times wastes a small part of a quota without a window, and never gives a token twice',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-kills-'));
    const cluster = await TestRegions.make(NAMES);
    const flagsOf = (name: string) => ['--data', join(directory, name)];
    let taken = 0;
    const hammerAll = (isOver: () => boolean) =>
      NAMES.flatMap((name) =>
        Array.from({ length: CLIENTS }, () => hammer(cluster.of(name).ready.resp, () => taken++, isOver)),
      );
    const start = async () => {
      await cluster.startAll(flagsOf);
      await cluster.allConnected();
    };
    try {
      await start();
      await cluster.call('a', 'QUOTA.DEFINE', 'seats', 'LIMIT', LIMIT, 'WINDOW', 'NONE', 'ALLOCATOR', 'b');
      let mayBeWasted = 0;
      for (let round = 0; round < ROUNDS; round++) {
        for (const name of NAMES)
          await eventually(async () => expect(await cluster.call(name, 'QUOTA.LIST')).toContain('seats'));
        const enough = taken + TAKEN_EACH_ROUND;
        const loads = hammerAll(() => false);
        await eventually(async () => expect(taken).toBeGreaterThan(enough));
        const before = taken;
        await Promise.all(NAMES.map((name) => cluster.kill(name)));
        await Promise.all(loads);

        mayBeWasted += (LIMIT - before) * WASTED_FRACTION + NAMES.length * (WASTED_AT_LEAST + CLIENTS);
        await start();
      }
      // The rest can be had, but for the tokens that were wasted.
      let last = -1;
      const rest = hammerAll(() => taken === last);
      await eventually(async () => {
        const reply = await cluster.call('a', 'QUOTA.TAKE', 'seats', 's', 1, 'WAIT', 1000);
        if (reply.startsWith('*5\r\n:1\r\n')) taken++;
        const isOver = last === taken;
        last = taken;
        expect(isOver).toBe(true);
      });
      await Promise.all(rest);
      expect(taken).toBeLessThanOrEqual(LIMIT);
      expect(LIMIT - taken).toBeLessThanOrEqual(mayBeWasted);
    } finally {
      await cluster.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
  PATIENCE_MS,
);
