import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type CallOptions,
  ConnectionError,
  Quota,
  type QuotaBackend,
  QuotadbClient,
  QuotadbHttpClient,
  type QuotaOptions,
  type QuotaReserveOptions,
  type QuotaTakeOptions,
} from '@quotadb/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually, startTestServer, type TestServer } from '../../testing/index.js';

const HOUR_MS = 3_600_000;
/** Nothing grows old in a test that does not want it. */
const LONG_STALENESS_MS = 5_000;

let server: TestServer;
let client: QuotadbClient<number>;
let http: QuotadbHttpClient;
beforeAll(async () => {
  server = await startTestServer();
  client = QuotadbClient.open({ port: server.port });
  http = new QuotadbHttpClient({ url: `http://127.0.0.1:${server.httpPort}` });
  await client.ping();
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

/** Counts what goes to the server, and can be made to be away. */
class WatchedBackend implements QuotaBackend {
  readonly backend: QuotaBackend;
  taken = 0;
  renewed = 0;
  reserved: number[] = [];
  committed: number[] = [];
  isAway = false;
  isLosing = false;

  constructor(backend: QuotaBackend = client) {
    this.backend = backend;
  }

  quotaPolicy(name: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaPolicy(name, options));
  }

  quotaTake(name: string, subject: string, cost: number, options?: QuotaTakeOptions) {
    this.taken++;
    return this.pass(() => this.backend.quotaTake(name, subject, cost, options));
  }

  quotaReserve(name: string, subject: string, estimate: number, ttlMs: number, options?: QuotaReserveOptions) {
    this.reserved.push(estimate);
    return this.pass(() => this.backend.quotaReserve(name, subject, estimate, ttlMs, options));
  }

  quotaCommit(reservation: string, actual: number, options?: CallOptions) {
    this.committed.push(actual);
    return this.pass(() => this.backend.quotaCommit(reservation, actual, options));
  }

  quotaCancel(reservation: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaCancel(reservation, options));
  }

  quotaAcquire(name: string, subject: string, ttlMs: number, options?: QuotaTakeOptions) {
    return this.pass(() => this.backend.quotaAcquire(name, subject, ttlMs, options));
  }

  async quotaRenew(lease: string, ttlMs: number, options?: CallOptions) {
    const answer = await this.pass(() => this.backend.quotaRenew(lease, ttlMs, options));
    if (answer.renewed) this.renewed++;
    return answer;
  }

  quotaRelease(lease: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaRelease(lease, options));
  }

  private pass<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.isLosing ? Promise.reject(new ConnectionError('lost', true)) : call();
  }
}

const quotas: Quota[] = [];
afterEach(async () => {
  await Promise.all(quotas.splice(0).map((quota) => quota.close()));
});

let tests = 0;
async function define(limit: number, windowMs: number = HOUR_MS): Promise<string> {
  const name = `quota-${++tests}`;
  await client.quotaDefine(name, { limit, windowMs });
  return name;
}

function open(name: string, options: Partial<QuotaOptions> = {}, backend: QuotaBackend = client) {
  const watched = new WatchedBackend(backend);
  const quota = new Quota({
    ...{ client: watched, name, whenAway: 'closed', stalenessMs: LONG_STALENESS_MS, timeoutMs: 20_000 },
    ...options,
  });
  quotas.push(quota);
  return { quota, watched };
}

async function leftOf(name: string, subject = 'alice'): Promise<number> {
  return (await client.quotaPeek(name, subject)).remainingEverywhere;
}

/** Takes until the process answers by itself. */
async function warm(quota: Quota, subject = 'alice'): Promise<number> {
  let taken = 0;
  for (; quota.tryTake(subject) === undefined; taken++) await quota.take(subject);
  return taken + 1;
}

describe.each(['RESP', 'HTTP'])('the tier in the process, over %s', (protocol) => {
  const backend = () => (protocol === 'RESP' ? client : http);

  test('a subject in use is answered here from tokens that were taken ahead, and what was not spent comes back', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name, {}, backend());
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
    const { quota } = open(name, {}, backend());
    let admitted = 0;
    for (let request = 0; request < 400; request++) if ((await quota.take('alice')).success) admitted++;
    expect(admitted).toBe(257);
    expect(await quota.take('alice')).toMatchObject({ success: false, remaining: 0, reason: 'limited' });
    expect((await quota.take('alice')).retryAfterMs).toBeGreaterThan(0);
    expect(await leftOf(name)).toBe(0);
  });

  test('a reservation is settled with what it cost, and comes back where it is not', async () => {
    const name = await define(100);
    const { quota } = open(name, {}, backend());
    const reserved = await quota.reserve('alice', 80, { ttlMs: 60_000 });
    expect(reserved).toMatchObject({ success: true, limit: 100, remaining: 20, reason: 'within' });
    expect(await quota.reserve('alice', 30)).toMatchObject({ success: false, reason: 'limited', id: undefined });
    expect(await reserved.commit(50)).toEqual({ charged: 50, uncharged: 0 });
    expect(await reserved.commit(50)).toEqual({ charged: 50, uncharged: 0 });
    expect(await reserved.cancel()).toBe(false);
    expect(await leftOf(name)).toBe(50);
    const cancelled = await quota.reserve('alice', 50);
    expect(await cancelled.cancel()).toBe(true);
    expect(await leftOf(name)).toBe(50);
    const dear = await quota.reserve('alice', 10);
    expect(await dear.commit(70)).toEqual({ charged: 50, uncharged: 20 });
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
  expect(await leftOf(name)).toBe(0);
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
    // A token of the server is of the window that its answer speaks of; one of the process, of that in which it is spent.
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
    const client = QuotadbClient.open({ port: ${server.port} });
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

describe('a denial', () => {
  test('is repeated here without a word to the server, for as long as it may be old', async () => {
    const name = await define(3);
    const { quota, watched } = open(name);
    await quota.take('alice', 3);
    expect((await quota.take('alice')).success).toBe(false);
    const asked = watched.taken;
    for (let request = 0; request < 50; request++) {
      const denied = quota.tryTake('alice');
      expect(denied).toMatchObject({ success: false, reason: 'limited', remaining: 0 });
      expect(denied!.retryAfterMs).toBeGreaterThan(LONG_STALENESS_MS);
    }
    expect(watched.taken).toBe(asked);
    // Others count apart, and less may be there where more is not.
    expect((await quota.take('bob', 2)).success).toBe(true);
    expect((await quota.take('bob', 2)).success).toBe(false);
    expect((await quota.take('bob', 1)).success).toBe(true);
  });

  test('is looked at again soon: what comes back is found', async () => {
    const name = await define(10);
    const reservation = await open(name).quota.reserve('alice', 10);
    const { quota } = open(name, { stalenessMs: 20 });
    expect((await quota.take('alice')).success).toBe(false);
    await reservation.cancel();
    await eventually(async () => expect((await quota.take('alice')).success).toBe(true));
  });
});

describe('while the server is away', () => {
  test('what is held here is spent; then the policy decides', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name);
    await warm(quota);
    watched.isAway = true;
    let held = 0;
    while (quota.tryTake('alice')?.success) held++;
    expect(held).toBeGreaterThan(0);
    expect(await quota.take('alice')).toMatchObject({ success: false, limit: 1_000, reason: 'away' });
  });

  test.each([
    ['open' as const, 5],
    ['closed' as const, 0],
    [{ share: 0.3 }, 3],
  ])('%j admits %i of 5', async (whenAway, expected) => {
    const name = await define(10);
    const { quota, watched } = open(name, { whenAway, policy: { limit: 10, windowMs: HOUR_MS } });
    for (const [subject, away] of [
      ['known', () => (watched.isAway = true)],
      ['lost', () => (watched.isLosing = true)],
    ] as const) {
      away();
      const results = [];
      for (let request = 0; request < 5; request++) results.push(await quota.take(subject));
      expect(results.filter(({ success }) => success)).toHaveLength(expected);
      expect(new Set(results.map(({ reason }) => reason))).toEqual(new Set(['away']));
      watched.isAway = false;
    }
    const reserved = await quota.reserve('reserved', 2);
    expect(reserved.success).toBe(expected > 0);
    if (reserved.success) expect(await reserved.commit(2)).toEqual({ charged: 0, uncharged: 2 });
    else await expect(reserved.commit(2)).rejects.toThrow('denied');
  });

  test('a share that could not be settled counts as spent', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name);
    const admitted = await warm(quota);
    watched.isLosing = true;
    await quota.close();
    expect(await leftOf(name)).toBeLessThan(1_000 - admitted);
  });
});

test('await using: what is not committed at the end of its block is cancelled', async () => {
  const name = await define(100);
  const { quota } = open(name);
  {
    await using reservation = await quota.reserve('alice', 60);
    expect(reservation.success).toBe(true);
    expect(await leftOf(name)).toBe(40);
  }
  expect(await leftOf(name)).toBe(100);
  {
    await using reservation = await quota.reserve('alice', 60);
    await reservation.commit(25);
  }
  expect(await leftOf(name)).toBe(75);
  const failed = async () => {
    await using _reservation = await quota.reserve('alice', 60);
    throw new Error('the work failed');
  };
  await expect(failed()).rejects.toThrow('the work failed');
  {
    await using denied = await quota.reserve('alice', 76);
    expect(denied.success).toBe(false);
  }
  expect(await leftOf(name)).toBe(75);
});

test('a reservation finds what this very process holds', async () => {
  const name = await define(100);
  const { quota } = open(name);
  const admitted = await warm(quota);
  expect((await quota.reserve('alice', 100 - admitted)).success).toBe(true);
  expect(await leftOf(name)).toBe(0);
});

test('subjects are remembered up to a bound, and what a forgotten one held comes back', async () => {
  const name = await define(1_000);
  const { quota } = open(name, { maxSubjects: 2 });
  const admitted = await warm(quota);
  for (const subject of ['a', 'b', 'c']) await quota.take(subject);
  expect(quota.tryTake('alice')).toBeUndefined();
  await quota.close();
  expect(await leftOf(name)).toBe(1_000 - admitted);
});

test('a quota without a window never resets', async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'quotadb-client-quota-'));
  const lasting = await startTestServer({ dataDirectory });
  const lastingClient = QuotadbClient.open({ port: lasting.port });
  try {
    await lastingClient.quotaDefine('seats', { limit: 2, windowMs: null });
    const { quota } = open('seats', {}, lastingClient);
    expect(await quota.take('team', 2)).toMatchObject({ success: true, reset: Number.POSITIVE_INFINITY });
    expect(await quota.take('team')).toMatchObject({ success: false, retryAfterMs: -1 });
    expect(quota.tryTake('team')).toMatchObject({ success: false, retryAfterMs: -1 });
  } finally {
    await lastingClient.close();
    await lasting.stop();
    await rm(dataDirectory, { recursive: true, force: true });
  }
});

test('what is wrong with a request is said, and harms nothing', async () => {
  const name = await define(10);
  const { quota } = open(name);
  for (const cost of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => quota.tryTake('alice', cost)).toThrow(RangeError);
    await expect(quota.take('alice', cost)).rejects.toThrow(RangeError);
    await expect(quota.reserve('alice', cost)).rejects.toThrow(RangeError);
  }
  await expect(quota.take('alice', 11)).rejects.toThrow('could never be allowed');
  await expect(open('nobody').quota.take('alice')).rejects.toThrow("there is no quota 'nobody'");
  expect(() => open(name, { processShare: 2 })).toThrow(RangeError);
  expect(() => open(name, { stalenessMs: 60_000 })).toThrow(RangeError);
  expect(await leftOf(name)).toBe(10);
});

describe.each(['RESP', 'HTTP'])('leases, over %s', (protocol) => {
  const backend = () => (protocol === 'RESP' ? client : http);

  async function defineLease(limit: number): Promise<string> {
    const name = `lease-${++tests}`;
    await backend().quotaDefine(name, { limit, leaseMs: 60_000 });
    return name;
  }

  test('no more than the limit are held at once; what is released is free again', async () => {
    const { quota } = open(await defineLease(2), {}, backend());
    const [first, second, third] = [
      await quota.acquire('alice'),
      await quota.acquire('alice'),
      await quota.acquire('alice'),
    ];
    expect(first).toMatchObject({ success: true, limit: 2, remaining: 1, reason: 'within', isHeld: true });
    expect(third).toMatchObject({ success: false, reason: 'limited', isHeld: false, id: undefined });
    expect(await third.release()).toBe(false);
    expect([await first.release(), await first.release(), first.isHeld]).toEqual([true, false, false]);
    {
      await using again = await quota.acquire('alice');
      expect(again.success).toBe(true);
      expect((await quota.acquire('alice')).success).toBe(false);
    }
    const last = await quota.acquire('alice');
    expect([last.success, last.signal.aborted]).toEqual([true, false]);
    await Promise.all([second.release(), last.release()]);
  });

  test('a lease is renewed for as long as it is held, and given away when its process is silent', async () => {
    const { quota, watched } = open(await defineLease(1), {}, backend());
    const lease = await quota.acquire('alice', { ttlMs: 1_500 });
    await eventually(() => expect(watched.renewed).toBeGreaterThanOrEqual(5));
    expect(lease.isHeld).toBe(true);
    expect((await quota.acquire('alice')).success).toBe(false);
    const other = open(quota.name, {}, backend()).quota;
    watched.isLosing = true;
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason.message).toContain('could not be renewed in time: lost');
    await eventually(async () => {
      const next = await other.acquire('alice');
      expect(next.success).toBe(true);
      await next.release();
    });
  });

  test('while the server is away the policy decides', async () => {
    const name = await defineLease(4);
    for (const [whenAway, expected] of [
      ['open', [true, true, true]],
      ['closed', [false, false, false]],
      [{ share: 0.5 }, [true, true, false]],
    ] as const) {
      const { quota, watched } = open(name, { whenAway, policy: { limit: 4, windowMs: 0 } }, backend());
      watched.isAway = true;
      const leases = [await quota.acquire('alice'), await quota.acquire('alice'), await quota.acquire('alice')];
      expect(leases.map(({ success }) => success)).toEqual(expected);
      await leases[0]!.release();
      expect((await quota.acquire('alice')).success).toBe(expected[0]);
    }
  });
});

describe.each(['RESP', 'HTTP'])('the commands, over %s', (protocol) => {
  const use = () => (protocol === 'RESP' ? client : http);

  test('define, list, take, take all, peek, drop', async () => {
    const each = use();
    const [one, other] = [`${protocol}-one`, `${protocol}-other`];
    await each.quotaDefine(one, { limit: 10, windowMs: HOUR_MS, waitMs: 250 });
    await each.quotaDefine(other, { limit: 2, windowMs: HOUR_MS, waitMs: 0 });
    expect(await each.quotaList()).toEqual(expect.arrayContaining([one, other]));
    expect(await each.quotaPolicy(one)).toEqual({ limit: 10, windowMs: HOUR_MS, leaseMs: 0, waitMs: 250 });
    const first = await each.quotaTake(one, 'käse', 3, { id: `${protocol} 1` });
    expect(first).toMatchObject({ allowed: true, remainingEverywhere: 7, retryAfterMs: 0 });
    expect(await each.quotaTake(one, 'käse', 3, { id: `${protocol} 1`, waitMs: 10 })).toEqual(first);
    const items = [one, other].map((name) => ({ name, subject: 'käse', cost: 2 }));
    const both = await each.quotaTakeAll(items);
    expect(both.allowed).toBe(true);
    expect(both.quotas.map(({ remainingEverywhere }) => remainingEverywhere)).toEqual([5, 0]);
    expect((await each.quotaTakeAll(items)).allowed).toBe(false);
    expect(await each.quotaPeek(one, 'käse')).toMatchObject({ remainingHere: 5, remainingEverywhere: 5 });
    expect([await each.quotaDrop(one), await each.quotaDrop(one)]).toEqual([true, false]);
    await each.quotaDrop(other);
  });
});
