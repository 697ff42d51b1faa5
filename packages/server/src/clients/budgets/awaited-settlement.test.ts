import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** A server whose first answer to a settlement is lost; nothing else keeps the process alive meanwhile. */
const PROGRAM = `
  import { ConnectionError, LlmBudgets } from '@quotadb/client';
  let commits = 0;
  const client = {
    isAway: false,
    quotaPolicy: async () => ({ limit: 100, windowMs: 1_000, leaseMs: 0, waitMs: 0 }),
    quotaReserve: async () => ({
      allowed: true, reservation: 'r', remainingHere: 0, remainingEverywhere: 0, resetAfterMs: 1, retryAfterMs: 0,
    }),
    async quotaCommit(_, actual) {
      if (commits++ === 0) throw new ConnectionError('lost', true);
      return { charged: actual, uncharged: 0 };
    },
  };
  const budgets = new LlmBudgets({ client, whenAway: 'closed', budgets: [{ quota: 'q', counts: 'tokens' }] });
  const usage = { prompt: 1, cachedPrompt: 0, completion: 2 };
  const grant = await budgets.open('alice', { model: 'm', estimate: usage });
  const [{ charged }] = await grant.settle(usage);
  console.log('charged ' + charged);
`;

test('a process that awaits its settlement does not end before it is made', () => {
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: new URL('.', import.meta.url),
    encoding: 'utf8',
  });
  expect({ stdout, status }).toEqual({ stdout: 'charged 3\n', status: 0 });
});
