import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { QuotadbClient } from '@quotadb/client';
import { afterEach, expect, test } from 'vitest';
import { eventually, useTestServers } from '../../testing/index.js';

const LIMIT = 1_000_000;
const ESTIMATE = 100;
const USED = 30;
const AT_ONCE = 4;
const PROCESSES = 3;
const ROUNDS = 4;
/** Requests that a process settles before it is killed. */
const SETTLED_FIRST = 5;
const PATIENCE_MS = 60_000;

/** Keeps twice as many requests going as are allowed at once; prints a line when one is held and when it is settled. */
const SPENDER = `
  import { LlmBudgets, QuotadbClient } from '@quotadb/client';
  const client = QuotadbClient.open(process.env.QUOTADB_URL);
  const budgets = new LlmBudgets({
    client,
    whenAway: 'closed',
    reservationMs: 2_000,
    budgets: [{ quota: 'atOnce', counts: 'requestsAtOnce' }, { quota: 'tokens', counts: 'tokens' }],
  });
  const estimate = { prompt: ${ESTIMATE}, cachedPrompt: 0, completion: 0 };
  async function spend() {
    for (;;) {
      const grant = await budgets.open('alice', { model: 'small', estimate });
      if (grant.success) {
        console.log('held');
        await new Promise((resolve) => setTimeout(resolve, 5));
        // Asked a second time, it must not charge a second time.
        const usage = { prompt: ${USED}, cachedPrompt: 0, completion: 0 };
        const [charges] = await Promise.all([grant.settle(usage), grant.settle(usage)]);
        console.log('settled ' + charges[0].charged);
      } else await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  for (let index = 0; index < ${2 * AT_ONCE}; index++) spend();
`;

const startServer = useTestServers();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** What a process printed: requests that it held, and tokens that were acknowledged as charged. */
interface Spent {
  held: number;
  settled: number;
  charged: number;
}

function spender(port: number): { child: ChildProcess; spent: Spent } {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SPENDER], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('.', import.meta.url),
    env: { ...process.env, QUOTADB_URL: `quotadb://127.0.0.1:${port}` },
  });
  children.push(child);
  const spent = { held: 0, settled: 0, charged: 0 };
  createInterface({ input: child.stdout! }).on('line', (line) => {
    if (line === 'held') spent.held++;
    else {
      spent.settled++;
      spent.charged += Number(line.slice('settled '.length));
    }
  });
  return { child, spent };
}

test(
  'processes that are killed leave nothing held: the whole budget less what was used is there again',
  async () => {
    const { port } = await startServer();
    const client = QuotadbClient.open(`quotadb://127.0.0.1:${port}`);
    try {
      await client.quotaDefine('tokens', { limit: LIMIT, windowMs: 366 * 24 * 3_600_000 });
      await client.quotaDefine('atOnce', { limit: AT_ONCE, leaseMs: 2_000 });
      const all: Spent[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const processes = Array.from({ length: PROCESSES }, () => spender(port));
        const settled = () => processes.reduce((sum, { spent }) => sum + spent.settled, 0);
        await eventually(async () => expect(settled()).toBeGreaterThan(PROCESSES * SETTLED_FIRST));
        for (const { child } of processes) await kill(child);
        all.push(...processes.map(({ spent }) => spent));
      }
      const charged = all.reduce((sum, spent) => sum + spent.charged, 0);
      expect(charged).toBe(USED * all.reduce((sum, spent) => sum + spent.settled, 0));
      // The reservations and leases of the killed lapse, and each was charged at most once before its line was printed.
      const unprinted = ROUNDS * PROCESSES * AT_ONCE * USED;
      await eventually(async () => {
        expect((await client.quotaPeek('atOnce', 'alice')).remainingEverywhere).toBe(AT_ONCE);
        const used = LIMIT - (await client.quotaPeek('tokens', 'alice')).remainingEverywhere;
        expect(used % USED).toBe(0);
        expect(used).toBeGreaterThanOrEqual(charged);
        expect(used).toBeLessThanOrEqual(charged + unprinted);
      });
    } finally {
      await client.close();
    }
  },
  PATIENCE_MS,
);
