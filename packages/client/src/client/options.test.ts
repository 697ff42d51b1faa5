import { expect, test } from 'vitest';
import { resolveOptions } from './options.js';

test.each([
  ['quotadb://127.0.0.1:7000', { host: '127.0.0.1', port: 7000 }],
  ['redis://host', { host: 'host', port: 6380 }],
  ['quotadbs://app:p%40ss@[::1]:6390', { host: '::1', port: 6390, username: 'app', password: 'p@ss', tls: true }],
  ['rediss://:only@host', { host: 'host', password: 'only', tls: true }],
])('the address %s', (address, expected) => {
  const options = resolveOptions(address);
  expect(options).toMatchObject(expected);
  expect('username' in options).toBe('username' in expected);
});

test('another scheme is refused by name', () => {
  expect(() => resolveOptions('http://host')).toThrow('not http:');
});

test('pauses before a new connection grow to two seconds, with a random part', () => {
  const { reconnectAfterMs } = resolveOptions();
  for (const attempt of [1, 5, 20, 1_000]) {
    const longest = Math.min(20 * 2 ** Math.min(attempt, 10), 2_000);
    const pauseMs = reconnectAfterMs(attempt)!;
    expect(pauseMs).toBeGreaterThanOrEqual(longest / 2);
    expect(pauseMs).toBeLessThanOrEqual(longest);
  }
});
