import { loadConfiguration } from '@quotadb/config';
import { expect, test } from 'vitest';
import { summarizeStart } from './start-summary.js';

const ready = { ready: true, region: 'us', resp: 6380, http: 8380, pid: 1, transport: 'epoll', lanes: 2 } as const;

function summarize(flags: Record<string, string | string[]>, more: object = {}): string {
  return summarizeStart(loadConfiguration({ flags, environment: {} }), { ...ready, ...more }, false);
}

test('a start says where to connect, which page to open, and that nothing is kept', () => {
  const text = summarize({});
  expect(text).toMatch(/Redis clients +127\.0\.0\.1:6380 +try: redis-cli -p 6380$/m);
  expect(text).toMatch(/dashboard +http:\/\/127\.0\.0\.1:8380\/dashboard\/$/m);
  expect(text).toMatch(/HTTP +http:\/\/127\.0\.0\.1:8380\/docs$/m);
  expect(text).toMatch(/data +in memory only: nothing is kept/);
  expect(text).toMatch(/access +no password/);
});

test('a start with data, a password, TLS and peers says so, and shows no password', () => {
  const flags = {
    ...{ data: './data', fsync: 'always', password: 'hunter2', host: '0.0.0.0', 'resp-tls': '6390' },
    ...{ 'tls-cert': 'a.crt', 'tls-key': 'a.key', peer: ['eu=127.0.0.1:7381'], 'repl-plaintext': 'yes' },
  };
  const text = summarize(flags, { respTls: 6390, repl: 7380 });
  expect(text).toContain('redis-cli -p 6380 --askpass');
  expect(text).toContain('redis-cli --tls -p 6390 --askpass');
  expect(text).toContain('kept in ./data, synced before every reply');
  expect(text).toMatch(/other regions +eu; this one is reached at 127\.0\.0\.1:7380/);
  expect(text).not.toContain('hunter2');
  expect(text).not.toContain('no password');
});

test('an address of IPv6 is one that a browser takes', () => {
  expect(summarize({ host: '::1' })).toContain('http://[::1]:8380/dashboard/');
});
