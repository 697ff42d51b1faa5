import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, PROTOCOLS, useQuotaServer, warm } from './testing/quota-server.js';

const { port, clientOver, define, open, leftOf } = useQuotaServer();

describe.each(PROTOCOLS)('the tier in the process, over %s', (protocol) => {
  test('a subject in use is answered from tokens that were taken ahead, and unspent ones come back', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name, {}, clientOver(protocol));
    expect(quota.tryTake('alice')).toBeUndefined();
    const first = await quota.take('alice');
    expect(first).toMatchObject({ success: true, limit: 1_000, remaining: 999, retryAfterMs: 0, reason: 'within' });
    expect(first.reset).toBeGreaterThan(Date.now());
    expect(first.reset).toBeLessThanOrEqual(Date.now() + HOUR_MS);
    let admitted = 1 + (await warm(quota));
    const asked = watched.taken;
    for (let request = 0; request < 3; request++, admitted++) {
      expect(quota.tryTake('alice')).toMatchObject({ success: true, remaining: 1_000 - admitted - 1 });
    }
    expect(watched.taken).toBe(asked);
    expect(await leftOf(name)).toBeLessThan(1_000 - admitted);
    await quota.close();
    expect(await leftOf(name)).toBe(1_000 - admitted);
  });

  test('alone it admits exactly the limit, and a denied request burns nothing', async () => {
    const name = await define(257);
    const { quota } = open(name, {}, clientOver(protocol));
    let admitted = 0;
    for (let request = 0; request < 400; request++) if ((await quota.take('alice')).success) admitted++;
    expect(admitted).toBe(257);
    expect(await quota.take('alice')).toMatchObject({ success: false, remaining: 0, reason: 'limited' });
    expect((await quota.take('alice')).retryAfterMs).toBeGreaterThan(0);
    expect(await leftOf(name)).toBe(0);
  });
});

test('shares follow the use: bigger while it grows, none for a subject that is seldom asked for', async () => {
  const name = await define(1_000_000);
  const { quota, watched } = open(name);
  let admitted = await warm(quota);
  for (; watched.reserved.length < 4; admitted++) if (!quota.tryTake('alice')) await quota.take('alice');
  const [first, second] = watched.reserved;
  expect(second).toBeGreaterThan(first!);
  await quota.take('bob');
  await quota.close();
  expect(await leftOf(name)).toBe(1_000_000 - admitted);
  expect(await leftOf(name, 'bob')).toBe(999_999);
});

test('of what the region holds a process takes ahead its share at most, and near the limit nothing', async () => {
  const name = await define(100);
  const { quota, watched } = open(name, { processShare: 0.15 });
  for (let request = 0; request < 100; request++) expect((await quota.take('alice')).success).toBe(true);
  expect(watched.reserved.length).toBeGreaterThan(0);
  expect(Math.max(...watched.reserved)).toBeLessThanOrEqual(15);
  expect((await quota.take('alice')).success).toBe(false);
  const exact = open(name, { processShare: 0 });
  for (let request = 0; request < 20; request++) await exact.quota.take('bob');
  expect([exact.watched.taken, exact.watched.reserved]).toEqual([20, []]);
});

test('many processes admit the limit together, and not one more, while their shares come and go', async () => {
  const limit = 2_000;
  const name = await define(limit);
  const processes = Array.from({ length: 8 }, () => open(name, { stalenessMs: 20, processShare: 0.3 }).quota);
  let admitted = 0;
  await Promise.all(
    processes.map(async (quota) => {
      let deniedInARow = 0;
      // A share that lies unused elsewhere is back after a moment: only then is a denial the last word.
      while (deniedInARow < 50) {
        const { success } = await quota.take('alice');
        if (success) admitted++;
        deniedInARow = success ? 0 : deniedInARow + 1;
        if (!success) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }),
  );
  expect(admitted).toBeLessThanOrEqual(limit);
  await Promise.all(processes.map((quota) => quota.close()));
  expect(admitted + (await leftOf(name))).toBe(limit);
  // A share that came to a process after its last request is back, and is all that is left.
  const last = open(name, { processShare: 0 }).quota;
  while ((await last.take('alice')).success) admitted++;
  expect(admitted).toBe(limit);
});

test('a share is not spent in a window that it was not taken in', async () => {
  const windowMs = 150;
  const limit = 40;
  const name = await define(limit, windowMs);
  const processes = Array.from({ length: 3 }, () => open(name, { stalenessMs: 1_000, processShare: 0.5 }).quota);
  const admitted = new Map<number, number>();
  let here = 0;
  const untilMs = Date.now() + 12 * windowMs;
  for (let round = 0; Date.now() < untilMs; round++) {
    const quota = processes[round % processes.length]!;
    const askedAtMs = Date.now();
    const window = Math.floor(askedAtMs / windowMs);
    const known = quota.tryTake('alice');
    const result = known ?? (await quota.take('alice'));
    if (!result.success) continue;
    // Where the machine stood still it cannot be said from outside in which window that was.
    const answeredAtMs = Date.now();
    if (
      known === undefined ? answeredAtMs - askedAtMs > windowMs / 2 : Math.floor(answeredAtMs / windowMs) !== window
    ) {
      continue;
    }
    // A token of the server is of the window that its answer speaks of; one of the process, of that in which it is
    // spent.
    const spentIn = known === undefined ? Math.floor(result.reset / windowMs) - 1 : window;
    admitted.set(spentIn, (admitted.get(spentIn) ?? 0) + 1);
    if (known !== undefined) here++;
  }
  expect(here).toBeGreaterThan(0);
  for (const count of admitted.values()) expect(count).toBeLessThanOrEqual(limit);
});

test('a process that is killed has wasted its share at most, and what it spent is not given out again', async () => {
  const limit = 500;
  const name = await define(limit);
  const program = `
    import { Quota, QuotadbClient } from '@quotadb/client';
    const client = QuotadbClient.open({ port: ${port()} });
    const quota = new Quota({ client, name: '${name}', whenAway: 'closed', stalenessMs: 5_000, timeoutMs: 20_000 });
    let admitted = 0;
    for (; admitted < 100; admitted++) if (!(await quota.take('alice')).success) throw new Error('denied');
    console.log(admitted);
    setInterval(() => undefined, 1_000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('../../../', import.meta.url),
  });
  const exited = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      expect(line).toBe('100');
      break;
    }
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
  const { quota } = open(name);
  let admitted = 0;
  while ((await quota.take('alice')).success) admitted++;
  expect(admitted).toBeLessThanOrEqual(limit - 100);
  expect(admitted).toBeGreaterThan((limit - 100) * 0.8);
});

test('subjects are kept up to a bound, and the tokens of a dropped one come back', async () => {
  const name = await define(1_000);
  const { quota } = open(name, { maxSubjects: 2 });
  const admitted = await warm(quota);
  for (const subject of ['a', 'b', 'c']) await quota.take(subject);
  expect(quota.tryTake('alice')).toBeUndefined();
  await quota.close();
  expect(await leftOf(name)).toBe(1_000 - admitted);
});
