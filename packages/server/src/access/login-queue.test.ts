import type { UserRecord } from '@quotadb/config';
import { hashPassword, isPasswordHash, passwordMatches } from '@quotadb/config';
import type { LoginAnswer } from '@quotadb/resp';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { ManualClock } from '../testing/index.js';
import { FailedLogins } from './failed-logins.js';
import { hostOf } from './host-of.js';
import { LoginQueue } from './login-queue.js';

/** A password whose hash is never done. */
const ENDLESS = 'endless';
const hashOf = (password: string) => `hash of ${password}`;
const web: UserRecord = {
  name: 'web',
  roles: ['write'],
  prefixes: [],
  passwords: [hashOf('old'), hashOf('new')],
  tokens: [],
};
let users = new Map([[web.name, web]]);

/** Time passes only by `pass`, and hashes take none of it. */
function loginQueue() {
  const clock = new ManualClock();
  const hashes: string[] = [];
  const timers: { atMs: number; callback: () => void }[] = [];
  const subject = new LoginQueue({
    users: () => users,
    clock,
    logger: pino({ level: 'silent' }),
    matches: async (password, hash) => {
      hashes.push(hash);
      if (Buffer.from(password).toString() === ENDLESS) await new Promise(() => {});
      return hashOf(Buffer.from(password).toString()) === hash;
    },
    after: (milliseconds, callback) => {
      timers.push({ atMs: clock.monotonic() + milliseconds, callback });
      return {} as NodeJS.Timeout;
    },
  });
  const send = (name: string, password: string, address = '192.0.2.1:1000', known?: boolean) =>
    new Promise<LoginAnswer>((resolve) =>
      subject.login({ name, password: Buffer.from(password), address, known }, resolve),
    );
  /** Lets the time pass, a timer after another. */
  const pass = async (milliseconds: number) => {
    const untilMs = clock.monotonic() + milliseconds;
    for (;;) {
      timers.sort((one, other) => one.atMs - other.atMs);
      if ((timers[0]?.atMs ?? Number.POSITIVE_INFINITY) > untilMs) break;
      const timer = timers.shift();
      clock.advance(Math.max((timer?.atMs ?? 0) - clock.monotonic(), 0));
      timer?.callback();
      await Promise.resolve();
    }
    clock.advance(untilMs - clock.monotonic());
  };
  return { subject, timers, hashes, send, pass };
}

/** Sends guesses without end: as soon as one is answered, and as many at once as the queue takes. */
function flood(
  { send }: ReturnType<typeof loginQueue>,
  connections: number,
  guess: (index: number) => Parameters<ReturnType<typeof loginQueue>['send']>,
) {
  const answers: LoginAnswer[] = [];
  for (let index = 0; index < connections; index++) {
    const again = (answer: LoginAnswer): void => {
      answers.push(answer);
      if (answer === 'wrong') void send(...guess(index)).then(again);
    };
    void send(...guess(index)).then(again);
  }
  return answers;
}

test('any of the passwords of a user lets in, also again, and nothing else does', async () => {
  const { send, timers, pass } = loginQueue();
  expect(await send('web', 'old')).toBe('right');
  expect(await send('web', 'old')).toBe('right');
  expect(await send('web', 'new')).toBe('right');
  expect(timers).toEqual([]);
  for (const [name, password] of [
    ['web', 'ol'],
    ['web', ''],
    ['nobody', 'old'],
  ] as const) {
    const answer = send(name, password, `192.0.2.${name.length}${password.length}:1`);
    await vi.waitFor(() => expect(timers).toHaveLength(1));
    await pass(FailedLogins.LONGEST_DELAY_MS);
    expect(await answer).toBe('wrong');
  }
});

test('what was right once is hashed no more, until its hash is gone', async () => {
  const { subject, send } = loginQueue();
  await send('web', 'old');
  const hashes = users.get('web')?.passwords ?? [];
  const { recognised } = subject as unknown as { recognised: Map<string, Buffer> };
  expect([...recognised.keys()]).toEqual([hashes[0]]);
  const before = users;
  users = new Map();
  subject.dropStale();
  expect(recognised.size).toBe(0);
  users = before;
});

test('a host guesses once a second for a name, however many connections it opens', async () => {
  const queue = loginQueue();
  const answers = flood(queue, 100, (index) => ['web', 'guess', `192.0.2.1:${index}`, false]);
  const atOnce = LoginQueue.MAXIMUM_WAITING_PER_NAME + 1;
  await queue.pass(0);
  expect(answers).toEqual(Array(100 - atOnce).fill('busy'));
  await queue.pass(60_000);
  // After 0, 100, 300, 700 and 1500 ms, then every second.
  expect(queue.subject.failed.total).toBe(5 + Math.floor((60_000 - 1500) / 1000));
});

test('a host guesses twice a second at most, whatever the names', async () => {
  const queue = loginQueue();
  flood(queue, 60, (index) => [`name${index}`, 'guess', `192.0.2.1:${index}`, false]);
  await queue.pass(10_000);
  const before = queue.subject.failed.total;
  await queue.pass(60_000);
  expect(queue.subject.failed.total - before).toBeLessThanOrEqual(120);
});

test('the right password waits for its turn as a wrong one does, and its answer says so no sooner', async () => {
  const { send, pass } = loginQueue();
  const wrong = send('default', 'guess', '192.0.2.1:1', false);
  let answer: LoginAnswer | undefined;
  void send('default', 'secret', '192.0.2.1:2', true).then((given) => {
    answer = given;
  });
  await pass(FailedLogins.FIRST_DELAY_MS - 1);
  expect(answer).toBeUndefined();
  await pass(1);
  expect([await wrong, answer]).toEqual(['wrong', 'right']);
  // Which ends the wait of its host and name.
  expect(await send('default', 'secret', '192.0.2.1:3', true)).toBe('right');
});

test('a flood of one host keeps no other host from logging in, known or not', async () => {
  const queue = loginQueue();
  flood(queue, 500, (index) => ['web', `guess ${index}`, `192.0.2.1:${index}`]);
  expect(await queue.send('web', 'old', '192.0.2.2:1')).toBe('right');
  flood(queue, 500, (index) => ['web', 'guess', `192.0.2.1:${index}`, false]);
  expect(await queue.send('default', 'x', '192.0.2.3:1', true)).toBe('right');
});

test('hosts that have failed leave a hash free for one that has not', async () => {
  const queue = loginQueue();
  for (let host = 0; host < 50; host++) queue.subject.failed.record(`198.51.100.${host}`, 'web');
  await queue.pass(FailedLogins.FIRST_DELAY_MS);
  for (let host = 0; host < 50; host++) void queue.send('web', ENDLESS, `198.51.100.${host}:1`);
  expect(await queue.send('web', 'old', '192.0.2.2:1')).toBe('right');
  // Those that failed have one hash between them, which has not ended.
  expect(queue.hashes).toHaveLength(2);
});

test('an attempt of a client that has gone is not checked', async () => {
  const { subject, send, pass } = loginQueue();
  const first = send('default', 'guess', '192.0.2.1:1', false);
  const gone = Array.from({ length: LoginQueue.MAXIMUM_WAITING_PER_NAME }, (_, index) =>
    send('default', 'guess', `192.0.2.1:${index + 2}`, false),
  );
  expect(await send('default', 'secret', '192.0.2.1:99', true)).toBe('busy');
  for (let index = 0; index < gone.length; index++) subject.abandon(`192.0.2.1:${index + 2}`);
  expect(new Set(await Promise.all(gone))).toEqual(new Set(['busy']));
  const right = send('default', 'secret', '192.0.2.1:99', true);
  await pass(FailedLogins.FIRST_DELAY_MS);
  expect([await first, await right, subject.failed.total]).toEqual(['wrong', 'right', 1]);
});

test('a token that no user has is refused late, and waits for no other', async () => {
  const { subject, send, pass } = loginQueue();
  const answers = Array.from({ length: 100 }, () => send('', '', '192.0.2.1:1', false));
  expect(subject.failed.total).toBe(100);
  await pass(FailedLogins.LONGEST_DELAY_MS);
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['wrong']));
});

test('a host that has long been quiet begins anew', () => {
  const clock = new ManualClock();
  const failed = new FailedLogins(clock);
  failed.record('a', 'web');
  expect(failed.record('a', 'web').delayMs).toBe(200);
  clock.advance(FailedLogins.RESET_AFTER_MS);
  expect(failed.record('a', 'web').delayMs).toBe(100);
});

test('the memory of hosts and names is bounded', () => {
  const failed = new FailedLogins(new ManualClock());
  for (let index = 0; index < FailedLogins.MAXIMUM_KEPT + 100; index++) failed.record(`host-${index}`, 'x'.repeat(999));
  expect(failed.hostCount).toBe(FailedLogins.MAXIMUM_KEPT);
});

test.each([
  ['127.0.0.1:1', '127.0.0.1'],
  ['[::ffff:192.0.2.1]:1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6:1', '2001:db8:1:2::/64'],
  ['[2001:db8::9]:1', '2001:db8:0:0::/64'],
  ['::1:1', '0:0:0:0::/64'],
  ['[fe80::1%eth0]:1', 'fe80:0:0:0::/64'],
])('%s guesses as %s', (address, host) => {
  expect(hostOf(address)).toBe(host);
});

test('a hash is bound to its password and salt', async () => {
  const [one, other] = await Promise.all([hashPassword(Buffer.from('x')), hashPassword(Buffer.from('x'))]);
  expect(one).not.toBe(other);
  expect(isPasswordHash(one)).toBe(true);
  expect(await passwordMatches(Buffer.from('x'), other)).toBe(true);
  expect(await passwordMatches(Buffer.from('y'), other)).toBe(false);
});
