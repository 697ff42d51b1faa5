import { expect, test } from 'vitest';
import { isLoopbackHost, mayUsePlaintext } from './plaintext.js';

test.each([
  '127.0.0.1',
  '127.255.0.9',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  'localhost',
  'LOCALHOST',
])('%s is this machine: plaintext is fine', (host) => {
  expect(isLoopbackHost(host)).toBe(true);
  expect(mayUsePlaintext(host, false)).toBe(true);
});

test.each([
  '0.0.0.0',
  '::',
  '',
  '10.0.0.1',
  '128.0.0.1',
  '127.0.0.1.example.com',
  'localhost.example.com',
  '127.1',
  '::ffff:10.0.0.1',
  'fe80::1',
  '2130706433',
])('"%s" may be another machine: plaintext has to be allowed', (host) => {
  expect(isLoopbackHost(host)).toBe(false);
  expect(mayUsePlaintext(host, false)).toBe(false);
  expect(mayUsePlaintext(host, true)).toBe(true);
});
