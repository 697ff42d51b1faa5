import type { UserRecord } from '@quotadb/config';
import { hashPassword, isPasswordHash, passwordMatches } from '@quotadb/config';
import pino from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../testing/index.js';
import { FailedLogins } from './failed-logins.js';
import { LoginQueue } from './login-queue.js';

let users: Map<string, UserRecord>;
beforeAll(async () => {
  const passwords = [await hashPassword(Buffer.from('old')), await hashPassword(Buffer.from('new'))];
  users = new Map([['web', { name: 'web', roles: ['write'], prefixes: [], passwords, tokens: [] }]]);
});

function loginQueue() {
  const clock = new ManualClock();
  const delays: number[] = [];
  const subject = new LoginQueue({
    users: () => users,
    clock,
    logger: pino({ level: 'silent' }),
    delay: async (milliseconds) => {
      delays.push(milliseconds);
    },
  });
  const attempt = (name: string, password: string, address = '192.0.2.1:1000') =>
    subject.check({ name, password: Buffer.from(password), address, isKnownWrong: false });
  return { subject, clock, delays, attempt };
}

test('any of the passwords of a user lets in, also again, and nothing else does', async () => {
  const { attempt, delays } = loginQueue();
  expect(await attempt('web', 'old')).toBe(true);
  expect(await attempt('web', 'old')).toBe(true);
  expect(await attempt('web', 'new')).toBe(true);
  expect(delays).toEqual([]);
  expect(await attempt('web', 'ol')).toBe(false);
  expect(await attempt('web', '')).toBe(false);
  expect(await attempt('nobody', 'old')).toBe(false);
});

test('what was right once is hashed no more, until its hash is gone', async () => {
  const { subject, attempt } = loginQueue();
  await attempt('web', 'old');
  const hashes = users.get('web')?.passwords ?? [];
  const { recognised } = subject as unknown as { recognised: Map<string, Buffer> };
  expect([...recognised.keys()]).toEqual([hashes[0]]);
  const before = users;
  users = new Map();
  subject.dropStale();
  expect(recognised.size).toBe(0);
  users = before;
});

test('every failed login is counted, and takes longer than the last from its address, up to a bound', async () => {
  const { subject, attempt, delays } = loginQueue();
  for (let failure = 0; failure < 8; failure++) {
    await subject.check({
      name: 'web',
      password: Buffer.from('x'),
      address: `192.0.2.1:${failure}`,
      isKnownWrong: true,
    });
  }
  expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  expect(subject.failed.total).toBe(8);
  await attempt('web', 'x', '192.0.2.2:1');
  expect(delays.at(-1)).toBe(100);
});

test('an address that has long been quiet begins anew', () => {
  const clock = new ManualClock();
  const failed = new FailedLogins(clock);
  failed.record('a');
  expect(failed.record('a').delayMs).toBe(200);
  clock.advance(FailedLogins.RESET_AFTER_MS);
  expect(failed.record('a').delayMs).toBe(100);
});

test('the memory of addresses is bounded', () => {
  const failed = new FailedLogins(new ManualClock());
  for (let index = 0; index < FailedLogins.MAXIMUM_ADDRESSES + 100; index++) failed.record(`host-${index}`);
  expect(failed.addressCount).toBe(FailedLogins.MAXIMUM_ADDRESSES);
});

test('attempts past the queue are refused, and those recognised still get in', async () => {
  const { attempt } = loginQueue();
  expect(await attempt('web', 'old')).toBe(true);
  const flood = Array.from({ length: LoginQueue.MAXIMUM_WAITING + 20 }, (_, index) => attempt('web', `wrong ${index}`));
  expect(await attempt('web', 'old')).toBe(true);
  // Those that found no place are answered before any hash is made.
  expect(await Promise.race(flood)).toBe(false);
  users = new Map(users);
  void Promise.allSettled(flood);
});

test('a hash is bound to its password and salt', async () => {
  const [one, other] = await Promise.all([hashPassword(Buffer.from('x')), hashPassword(Buffer.from('x'))]);
  expect(one).not.toBe(other);
  expect(isPasswordHash(one)).toBe(true);
  expect(await passwordMatches(Buffer.from('x'), other)).toBe(true);
  expect(await passwordMatches(Buffer.from('y'), other)).toBe(false);
});
