import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

/** What a user of a limiter library does and sees, on a server at this port. It starts and ends its own clients. */
export type Scenario = (port: number) => Promise<unknown>;

/**
 * The same scenario on a real Redis and on a server of ours. The answers of the library must be the same on both, and
 * the expected ones, so that two servers that both limit nothing do not pass.
 */
export function onBoth(library: string, scenarios: Record<string, { run: Scenario; expected: unknown }>): void {
  describeWithRedis(library, () => {
    let redis: RedisServer;
    let ours: TestServer;
    beforeAll(async () => {
      [redis, ours] = await Promise.all([startRedis(), startTestServer()]);
    });
    afterAll(async () => {
      await Promise.all([redis.stop(), ours.stop()]);
    });

    for (const [name, { run, expected }] of Object.entries(scenarios)) {
      test(name, async () => {
        expect(await run(redis.port), 'on Redis').toEqual(expected);
        expect(await run(ours.port), 'on QuotaDB').toEqual(expected);
      });
    }
  });
}

/** The status of this many requests, one after another. */
export async function statuses(count: number, request: () => Promise<number>): Promise<number[]> {
  const seen: number[] = [];
  for (let sent = 0; sent < count; sent++) seen.push(await request());
  return seen;
}

/** How often each answer came. */
export function tally<Answer extends string | number>(answers: readonly Answer[]): Record<Answer, number> {
  const counts = {} as Record<Answer, number>;
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

/** Rounded up to whole steps: a time that has just begun to run is shown as the whole. */
export function roundUp(milliseconds: number, step: number): number {
  return Math.ceil(milliseconds / step) * step;
}
