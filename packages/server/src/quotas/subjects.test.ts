import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { afterEach, expect, test } from 'vitest';
import { CertifiedRegions, eventually, startTestServer, TestClient, type TestServer } from '../testing/index.js';

const DAY = ['WINDOW', 'DAY', 'ZONE', 'Pacific/Kiritimati'] as const;
const opened: { stop(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop();
});

async function serve(settings: Partial<Configuration> = {}): Promise<{ server: TestServer; client: TestClient }> {
  const server = await startTestServer(settings);
  opened.push(server);
  const client = await TestClient.open(server.port);
  opened.push({ stop: async () => client.close() });
  return { server, client };
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-subjects-'));
  opened.push({ stop: () => rm(path, { recursive: true, force: true }) });
  return path;
}

function numbers(reply: string): number[] {
  expect(reply[0]).toBe('*');
  return [...reply.matchAll(/^:(-?\d+)\r$/gm)].map(([, digits]) => Number(digits));
}

async function take(client: TestClient, subject: string, cost: number): Promise<number> {
  return numbers(await client.call('QUOTA.TAKE', 'calls', subject, cost))[0];
}

test('a window of the calendar is a whole day of its zone, and begins when that does', async () => {
  const { client } = await serve();
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY)).toBe('+OK\r\n');
  const [allowed, , , resetMs] = numbers(await client.call('QUOTA.TAKE', 'calls', 's', 4));
  expect(allowed).toBe(1);
  const midnightMs = 24 * 3_600_000 - ((Date.now() + 14 * 3_600_000) % (24 * 3_600_000));
  expect(Math.abs(resetMs - midnightMs)).toBeLessThan(5000);
  expect(await client.call('QUOTA.INFO', 'calls')).toContain('day Pacific/Kiritimati 1');
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', 'DAY', 'ZONE', 'UTC')).toMatch(
    /^-ERR the window of a policy cannot be changed/,
  );
});

test('a cost beyond the limit is denied for ever, in every command that takes, and charged nowhere', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await client.call('QUOTA.DEFINE', 'bytes', 'LIMIT', 10, ...DAY);
  for (const words of [
    ['QUOTA.TAKE', 'calls', 's', 11],
    ['QUOTA.TAKE', 'calls', 's', 11, 'ID', 'x'],
    ['QUOTA.RESERVE', 'calls', 's', 11, 'TTL', 1000],
  ]) {
    const reply = numbers(await client.call(...(words as [string])));
    expect([reply[0], reply.at(-1)], String(words)).toEqual([0, -1]);
  }
  const all = numbers(await client.call('QUOTA.TAKEALL', 2, 'bytes', 's', 1, 'calls', 's', 11));
  expect([all[0], all.at(-1)]).toEqual([0, -1]);
  expect(numbers(await client.call('QUOTA.PEEK', 'bytes', 's'))[1]).toBe(10);
});

test('the allocator and the shares of a quota are regions that there are', async () => {
  const { client } = await serve({ region: 'eu' });
  const unknown = /^-ERR region 'mars' of 'calls' is not known: the regions are eu/;
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY, 'ALLOCATOR', 'mars')).toMatch(unknown);
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY, 'SHARE', 'mars', 0.7)).toMatch(unknown);
});

test('subjects of a window are listed, page by page, each once', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await client.call('QUOTA.DEFINE', 'other', 'LIMIT', 10, ...DAY);
  for (let index = 0; index < 50; index++) await take(client, `s${index}`, 1);
  await client.call('QUOTA.TAKE', 'other', 'x', 1);
  const found: string[] = [];
  let cursor = '0';
  do {
    const reply = await client.call('QUOTA.SUBJECTS', 'calls', 'CURSOR', cursor, 'COUNT', 7);
    cursor = /^\*2\r\n\$\d+\r\n(\d+)/.exec(reply)?.[1] ?? '0';
    for (const [, subject, limit, remaining] of reply.matchAll(/\*3\r\n\$\d+\r\n(\w+)\r\n:(\d+)\r\n:(\d+)/g)) {
      found.push(subject);
      expect([limit, remaining]).toEqual(['10', '9']);
    }
  } while (cursor !== '0');
  expect(found.sort()).toEqual(Array.from({ length: 50 }, (_, index) => `s${index}`).sort());
  expect(await client.call('QUOTA.SUBJECTS', 'none')).toMatch(/^-ERR there is no quota 'none'/);
  expect(await client.call('QUOTA.SUBJECTS', 'calls', 'CURSOR', 'x')).toMatch(/^-ERR 'x' is no cursor/);
  expect(await client.call('QUOTA.SUBJECTS', 'calls', 'COUNT', 5000)).toMatch(/^-ERR a page has 1 to 1000/);
});

test('a mistake in a command about subjects is named, with what is allowed there', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  const mistakes = [
    ['QUOTA.SUBJECTS calls CONT 5', "syntax error: 'CONT', argument 2, is not understood here: CURSOR cursor and"],
    ['QUOTA.SUBJECTS calls COUNT', 'syntax error: nothing comes after '],
    ['QUOTA.SUBJECTS calls COUNT five', "COUNT is not an integer or out of range: 'five'. Give 1 to 1000"],
    ['QUOTA.EVENTS 5', "syntax error: '5', argument 1, is not understood here: nothing, or COUNT and a number"],
    ['QUOTA.EVENTS COUNT 5000', "COUNT is not an integer or out of range: '5000'. Give 1 to 1000"],
    ['QUOTA.REFUND calls s five', "an amount is a whole number of at least 1, not 'five'"],
    ['QUOTA.EXTRA calls s -1', "an amount is a whole number of at least 1, not '-1'"],
    ['QUOTA.REFUND calls s 1 WAIT 5', "syntax error: 'WAIT', argument 4, is not understood here: ID token may follow"],
    ['QUOTA.RESET calls s ID', "syntax error: nothing comes after 'ID': ID token may follow"],
    ['LIMIT.GET one two', "syntax error: 'two', argument 2, is not understood here: one name, or none"],
  ] as const;
  for (const [command, reply] of mistakes)
    expect(await client.call(...command.split(' '))).toMatch(new RegExp(`^-ERR ${reply}`));
});

test('a refund gives back what was spent and no more, and neither what is reserved nor what is left', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await take(client, 's', 4);
  const reserved = await client.call('QUOTA.RESERVE', 'calls', 's', 3, 'TTL', 60_000);
  expect(numbers(await client.call('QUOTA.REFUND', 'calls', 's', 1))).toEqual([1, 4, 4]);
  expect(numbers(await client.call('QUOTA.REFUND', 'calls', 's', 100))).toEqual([3, 7, 7]);
  expect(numbers(await client.call('QUOTA.REFUND', 'calls', 's', 100))).toEqual([0, 7, 7]);
  expect(await take(client, 's', 8)).toBe(0);
  expect(await take(client, 's', 7)).toBe(1);
  const id = /\r\n([\w-]+@\w+)\r\n/.exec(reserved)?.[1] as string;
  expect(await client.call('QUOTA.CANCEL', id)).toBe(':1\r\n');
  expect(await take(client, 's', 4)).toBe(0);
  expect(await take(client, 's', 3)).toBe(1);
  expect(await client.call('QUOTA.REFUND', 'calls', 's', 0)).toMatch(/^-ERR an amount is a whole number/);
  expect(await client.call('QUOTA.REFUND', 'calls', 's', 1, 'WAIT', 5)).toMatch(/^-ERR syntax/);
});

test('extra tokens are there once for an ID, also after a restart, for their subject alone', async () => {
  const dataDirectory = await directory();
  const first = await serve({ dataDirectory });
  await first.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await take(first.client, 's', 10);
  expect(await take(first.client, 's', 1)).toBe(0);
  for (let attempt = 0; attempt < 3; attempt++)
    expect(await first.client.call('QUOTA.EXTRA', 'calls', 's', 5, 'ID', 'gift')).toBe(':15\r\n');
  expect(await first.client.call('QUOTA.EXTRA', 'calls', 's', 6, 'ID', 'gift')).toMatch(/^-ERR this ID was used/);
  expect(await first.client.call('QUOTA.EXTRA', 'calls', 's', 0)).toMatch(/^-ERR an amount is a whole number/);
  expect(await take(first.client, 's', 3)).toBe(1);
  await first.server.stop();
  const second = await serve({ dataDirectory });
  expect(await second.client.call('QUOTA.EXTRA', 'calls', 's', 5, 'ID', 'gift')).toBe(':15\r\n');
  expect(await take(second.client, 's', 3)).toBe(0);
  expect(await take(second.client, 's', 2)).toBe(1);
  expect(await take(second.client, 'other', 11)).toBe(0);
});

test('a refund under an ID is made once, also after a restart', async () => {
  const dataDirectory = await directory();
  const first = await serve({ dataDirectory });
  await first.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await take(first.client, 's', 10);
  for (let attempt = 0; attempt < 3; attempt++)
    expect(numbers(await first.client.call('QUOTA.REFUND', 'calls', 's', 2, 'ID', 'sorry'))[0]).toBe(2);
  expect(await first.client.call('QUOTA.REFUND', 'calls', 's', 3, 'ID', 'sorry')).toMatch(/^-ERR this ID was used/);
  expect(numbers(await first.client.call('QUOTA.PEEK', 'calls', 's'))[1]).toBe(2);
  await first.server.stop();
  const second = await serve({ dataDirectory });
  expect(numbers(await second.client.call('QUOTA.REFUND', 'calls', 's', 2, 'ID', 'sorry'))).toEqual([0, 0, 2]);
  expect(await take(second.client, 's', 3)).toBe(0);
  expect(await take(second.client, 's', 2)).toBe(1);
});

test('every refund, reset and extra is an event with its user, its time and its outcome', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, ...DAY);
  await take(client, 's', 4);
  await client.call('QUOTA.REFUND', 'calls', 's', 1, 'ID', 'one');
  await client.call('QUOTA.EXTRA', 'calls', 's', 5);
  await client.call('QUOTA.RESET', 'calls', 's');
  await client.call('QUOTA.REFUND', 'none', 's', 1);
  const events = await client.call('QUOTA.EVENTS');
  const lines = [...events.matchAll(/(quota\.\w+)\r\n\$2\r\nby\r\n\$7\r\ndefault\r\n/g)].map(([, event]) => event);
  expect(lines).toEqual(['quota.refund', 'quota.reset', 'quota.extra', 'quota.refund']);
  expect(events).toContain("there is no quota 'none'");
  expect(events).toMatch(/amount\r\n:3\r\n/);
  expect(await client.call('QUOTA.EVENTS', 'COUNT', 1)).toMatch(/^\*1\r\n/);
  expect(await client.call('QUOTA.EVENTS', 'COUNT', 0)).toMatch(/^-ERR/);
});

test('a reset reaches every region once, and an extra is given out once in all of them together', async () => {
  const regions = await CertifiedRegions.make(['a', 'b']);
  opened.push({ stop: () => regions.close() });
  const home = await regions.start('a');
  const other = await regions.start('b', [{ region: 'a', port: home.port }]);
  await home.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 20, ...DAY);
  await eventually(async () => expect(await other.client.call('QUOTA.LIST')).toContain('calls'));
  // On a slow machine tokens may come later than a take waits for them; a denial costs nothing.
  await eventually(async () => expect(await take(other.client, 's', 6)).toBe(1));
  // The other region may hold more for a moment than it needs.
  await eventually(async () => expect(await take(home.client, 's', 7)).toBe(1));
  // Set aside in the other region, and not spent: it reports them when it is asked.
  await eventually(async () => {
    const info = await home.client.call('QUOTA.INFO', 'calls', 's');
    expect(/remaining-with-unspent\r\n:(\d+)/.exec(info)?.[1]).toBe('7');
    expect(info).toMatch(/unspent-unknown\r\n\$0\r\n/);
  });
  const reset = await other.client.call('QUOTA.RESET', 'calls', 's', 'ID', 'again');
  expect(reset).toBe('*3\r\n:13\r\n*2\r\n$1\r\nb\r\n$1\r\na\r\n*0\r\n');
  expect(await other.client.call('QUOTA.RESET', 'calls', 's', 'ID', 'again')).toBe(reset);
  expect(await other.client.call('QUOTA.EXTRA', 'calls', 's', 5, 'ID', 'gift')).toBe(':25\r\n');
  expect(await home.client.call('QUOTA.EXTRA', 'calls', 's', 5, 'ID', 'gift')).toBe(':25\r\n');
  let allowed = 0;
  await eventually(async () => {
    for (const client of [home.client, other.client]) while ((await take(client, 's', 1)) === 1) allowed++;
    expect(allowed).toBe(25);
  });
  expect(await home.client.call('QUOTA.EVENTS')).toMatch(/quota\.reset.*peer\r\n\$1\r\nb/s);
  await other.server.stop();
  expect(await home.client.call('QUOTA.RESET', 'calls', 's')).toMatch(
    /^\*3\r\n:\d+\r\n\*1\r\n\$1\r\na\r\n\*1\r\n\$1\r\nb/,
  );
});
