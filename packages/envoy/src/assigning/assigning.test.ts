import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readConfiguration } from '../configuration/read-configuration.js';
import type { Domains } from '../configuration/rule.js';
import { HeldBytes } from '../door/held-bytes.js';
import { decodeBy, encodeBy } from '../testing/envoy-client.js';
import { ProxyModel } from '../testing/proxy-model.js';
import { GRACE_MS } from './bounds.js';
import { findBucketRule } from './find-bucket.js';
import { ProxyBuckets } from './proxy-buckets.js';
import type { TokenStore } from './token-store.js';

const REPORTS = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports';
const RESPONSE = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse';
const WINDOW_MS = 60_000;

function load(descriptors: string): Domains {
  const { domains, mistakes } = readConfiguration([
    { name: 'a.yaml', text: `domain: d\ndescriptors:\n${descriptors}` },
  ]);
  if (domains === undefined) throw new Error(JSON.stringify(mistakes));
  return domains;
}

/** The tokens of one quota, in windows of a minute, by the rules of quotas; time is set by the test. */
class Tokens implements TokenStore {
  nowMs = 0;
  taken = 0;
  private window = 0;
  private lastId = 0;
  private readonly limit: number;
  private readonly held = new Map<string, { readonly window: number; readonly tokens: number }>();

  constructor(limit: number) {
    this.limit = limit;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  private advance(): { readonly remaining: number; readonly resetMs: number } {
    const window = Math.floor(this.nowMs / WINDOW_MS);
    if (window !== this.window) this.taken = 0;
    this.window = window;
    return { remaining: this.limit - this.taken, resetMs: (window + 1) * WINDOW_MS - this.nowMs };
  }

  async peek() {
    return this.advance();
  }

  async reserve(_: string, __: Buffer, tokens: number) {
    const { remaining, resetMs } = this.advance();
    if (tokens > remaining) return { id: '', resetMs };
    this.taken += tokens;
    const id = String(++this.lastId);
    this.held.set(id, { window: this.window, tokens });
    return { id, resetMs };
  }

  settle(id: string, used: number): void {
    const held = this.held.get(id);
    this.held.delete(id);
    this.advance();
    if (held !== undefined && held.window === this.window) this.taken -= held.tokens - used;
  }
}

describe('the rule of a bucket', () => {
  const domains = load(`
  - key: tenant
    descriptors:
      - { key: api, exact: true, rate_limit: { unit: minute, requests_per_unit: 10 } }
  - { key: api, exact: true, rate_limit: { unit: minute, requests_per_unit: 20 } }
`);
  const find = (bucket: Record<string, string>) =>
    findBucketRule(
      domains,
      'd',
      Object.entries(bucket).map(([key, value]) => ({ key, value })),
    )?.rule.requestsPerUnit;

  test('is found in any order of its entries, and only with all of them', () => {
    expect(find({ api: 'x', tenant: 't' })).toBe(10);
    expect(find({ tenant: 't', api: 'x' })).toBe(10);
    expect(find({ api: 'x' })).toBe(20);
    expect(find({ tenant: 't' })).toBeUndefined();
    expect(find({ api: 'x', tenant: 't', more: 'm' })).toBeUndefined();
  });
});

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Proxies that report at intervals, over lines with delays, on one clock. */
async function simulate({ limit, proxies, steps, stepMs, delayMs, reportMs, seed }: Simulation) {
  const tokens = new Tokens(limit);
  const arrivalMs = Math.ceil(Math.max(1, delayMs) / stepMs) * stepMs;
  const domains = load(`  - { key: k, exact: true, rate_limit: { unit: minute, requests_per_unit: ${limit} } }`);
  const figures = { assigned: 0, denied: 0, tokensGiven: 0, tokensUsed: 0 };
  const lines: { readonly atMs: number; readonly run: () => void }[] = [];
  const later = (run: () => void) => lines.push({ atMs: tokens.nowMs + delayMs, run });
  const options = {
    domains: () => domains,
    tokens,
    figures,
    held: new HeldBytes(2 ** 20, 'buckets'),
    onUnshared: () => {},
  };
  const allowedIn = new Map<number, number>();
  const sides = Array.from({ length: proxies }, () => {
    const model = new ProxyModel({ k: 'v' }, 0);
    const replies = {
      send: (reply: Buffer) => later(() => model.receive(decodeBy(RESPONSE, reply), tokens.nowMs)),
      end: () => {},
    };
    return { model, server: new ProxyBuckets(options, replies, { mayCount: () => true }) };
  });
  let random = seed;
  const next = () => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return random / 2 ** 32;
  };
  for (let step = 0; step < steps; step++) {
    tokens.nowMs += stepMs;
    for (const line of lines.splice(0)) {
      if (line.atMs <= tokens.nowMs) line.run();
      else lines.push(line);
    }
    for (const { server } of sides) server.tick();
    await settled();
    for (const [index, { model, server }] of sides.entries()) {
      const load = Math.floor(next() * 4 * (index + 1));
      for (let count = 0; count < load; count++)
        if (model.request(tokens.nowMs)) {
          // A share holds from when it arrives, so the last of a window are used up to one delay after its end.
          const window = Math.floor((tokens.nowMs - arrivalMs) / WINDOW_MS);
          allowedIn.set(window, (allowedIn.get(window) ?? 0) + 1);
        }
      if (step === 0 || tokens.nowMs % reportMs === 0) {
        const report = encodeBy(REPORTS, model.report('d', tokens.nowMs));
        later(() => server.message(report));
      }
    }
    await settled();
  }
  return { allowedIn, figures, models: sides.map(({ model }) => model) };
}

interface Simulation {
  readonly limit: number;
  readonly proxies: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly delayMs: number;
  readonly reportMs: number;
  readonly seed: number;
}

test('proxies together never allow more than the limit, whatever their loads, reports and delays are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        limit: fc.integer({ min: 1, max: 500 }),
        proxies: fc.integer({ min: 1, max: 5 }),
        steps: fc.constant(400),
        stepMs: fc.constant(500),
        delayMs: fc.constantFrom(0, 100, GRACE_MS / 2),
        reportMs: fc.constantFrom(500, 2000, 5000),
        seed: fc.nat(),
      }),
      async (simulation) => {
        const { allowedIn } = await simulate(simulation);
        for (const [window, allowed] of allowedIn)
          expect([window, allowed]).toEqual([window, Math.min(allowed, simulation.limit)]);
      },
    ),
    { numRuns: 25 },
  );
});

test('the limit is used: proxies with more load than it get nearly all of it', async () => {
  const { allowedIn } = await simulate({
    limit: 300,
    proxies: 3,
    steps: 480,
    stepMs: 500,
    delayMs: 100,
    reportMs: 2000,
    seed: 7,
  });
  for (const window of [1, 2]) expect(allowedIn.get(window)).toBeGreaterThan(270);
});

test('unused tokens of a proxy that goes quiet come back, and its bucket is abandoned', async () => {
  const tokens = new Tokens(100);
  const domains = load('  - { key: k, exact: true, rate_limit: { unit: minute, requests_per_unit: 100 } }');
  const figures = { assigned: 0, denied: 0, tokensGiven: 0, tokensUsed: 0 };
  const model = new ProxyModel({ k: 'v' }, 0);
  const server = new ProxyBuckets(
    { domains: () => domains, tokens, figures, held: new HeldBytes(2 ** 20, 'buckets'), onUnshared: () => {} },
    { send: (reply) => model.receive(decodeBy(RESPONSE, reply), tokens.nowMs), end: () => {} },
    { mayCount: () => true },
  );
  const report = () => server.message(encodeBy(REPORTS, model.report('d', tokens.nowMs)));
  model.request(0);
  report();
  await settled();
  expect([figures.tokensGiven, tokens.taken]).toEqual([10, 10]);
  expect(model.request(tokens.nowMs)).toBe(true);
  tokens.nowMs = 10_000 + GRACE_MS;
  report();
  expect(tokens.taken).toBe(1);
  for (; tokens.nowMs < 80_000; tokens.nowMs += 1000) {
    server.tick();
    await settled();
  }
  expect([model.isAbandoned, server.size]).toEqual([true, 0]);
});

test('requests that a proxy allowed before its first assignment are paid for', async () => {
  const tokens = new Tokens(100);
  const domains = load('  - { key: k, exact: true, rate_limit: { unit: minute, requests_per_unit: 100 } }');
  const figures = { assigned: 0, denied: 0, tokensGiven: 0, tokensUsed: 0 };
  const model = new ProxyModel({ k: 'v' }, 0, true);
  const server = new ProxyBuckets(
    { domains: () => domains, tokens, figures, held: new HeldBytes(2 ** 20, 'buckets'), onUnshared: () => {} },
    { send: (reply) => model.receive(decodeBy(RESPONSE, reply), tokens.nowMs), end: () => {} },
    { mayCount: () => true },
  );
  for (let count = 0; count < 30; count++) model.request(0);
  server.message(encodeBy(REPORTS, model.report('d', 0)));
  await settled();
  expect([figures.tokensGiven, tokens.taken]).toEqual([10, 40]);
});

test('the buckets of all streams together take a bounded amount of memory, and make room when they go', () => {
  const tokens = new Tokens(100);
  const domains = load('  - { key: k, rate_limit: { unit: minute, requests_per_unit: 100 } }');
  const figures = { assigned: 0, denied: 0, tokensGiven: 0, tokensUsed: 0 };
  const held = new HeldBytes(100_000, 'buckets');
  const options = { domains: () => domains, tokens, figures, held, onUnshared: () => {} };
  const replies = { send: () => {}, end: () => {} };
  const open = () => new ProxyBuckets(options, replies, { mayCount: () => true });
  const report = (server: ProxyBuckets, name: string) => {
    const bucketId = { bucket: { other: name.padEnd(10_000) } };
    server.message(encodeBy(REPORTS, { domain: 'd', bucketQuotaUsages: { 0: { bucketId, timeElapsed: {} } } }));
  };
  const [one, other] = [open(), open()];
  for (const name of ['a', 'b', 'c', 'd']) report(one, name);
  expect(() => report(other, 'e')).toThrow('take too much memory');
  report(one, 'a');
  one.close();
  for (const name of ['a', 'b', 'c', 'd']) report(other, name);
});
