import { describe, expect, test } from 'vitest';
import { type AdmissionSetup, measureAdmission, measureTraffic, type TrafficSetup } from './measure.js';

const traffic: TrafficSetup = {
  name: 'cold',
  regions: 3,
  roundTripMs: 40,
  publishPercent: 20,
  identifiers: 2_000,
  limit: 100,
  windowMs: 60_000,
  requests: 4_000,
  requestsPerSecond: 2_000,
};

const admission: AdmissionSetup = {
  regions: 3,
  roundTripMs: 40,
  publishPercent: 20,
  isIndependent: false,
  limit: 200,
  windowMs: 5_000,
  windows: 3,
  load: 5,
};

describe('between regions', () => {
  test('cold identifiers cost nothing below the threshold, and a message for each cell without one', async () => {
    const quiet = await measureTraffic(traffic);
    expect(quiet).toMatchObject({ messagesPerMillion: 0, bytesPerMillion: 0, cellsPerMillion: 0, admitted: 4_000 });
    const chatty = await measureTraffic({ ...traffic, publishPercent: 0 });
    expect(chatty.cellsPerMillion).toBeGreaterThan(1_000_000);
    expect(chatty.bytesPerMillion).toBeGreaterThan(quiet.bytesPerMillion);
  });

  test('hot identifiers are exchanged once an interval, however many requests there are', async () => {
    const hot = await measureTraffic({ ...traffic, name: 'hot', identifiers: 3, requests: 10_000 });
    expect(hot.cellsPerMillion).toBeGreaterThan(0);
    expect(hot.cellsPerMillion).toBeLessThan(1_000_000);
  });
});

describe('admission', () => {
  test('exceeds that of one region by requests under way, and is below that of independent regions', async () => {
    const together = await measureAdmission(admission);
    const apart = await measureAdmission({ ...admission, isIndependent: true });
    expect(together.overPercent).toBeGreaterThanOrEqual(0);
    expect(together.overPercent).toBeLessThan(20);
    expect(apart.overPercent).toBeGreaterThan(100);
  });

  test.each([2, 3, 4, 5, 6, 7, 8])(
    'of %i regions exceeds a limit under slow demand by requests under way alone',
    async (regions) => {
      const slow = { ...admission, regions, limit: 100, windowMs: 10_000, windows: 2, load: 2 };
      for (const publishPercent of [20, 100]) {
        const { worstWindowPercent } = await measureAdmission({ ...slow, publishPercent });
        expect(worstWindowPercent, `threshold ${publishPercent} %`).toBeLessThan(10);
      }
    },
  );

  test.each([2, 3, 5, 8])(
    'of %i regions is at most the limit in each, and from then on a request in each above it, however fast clients ask',
    async (regions) => {
      const hammering = { ...admission, regions, limit: 100, windowMs: 2_000, windows: 3, load: 'hammering' as const };
      for (const roundTripMs of [10, 150]) {
        const { byWindow } = await measureAdmission({ ...hammering, roundTripMs });
        const [first, ...later] = byWindow;
        expect(first, `round trip ${roundTripMs} ms`).toBeLessThanOrEqual(regions * 100);
        // All of the first window's excess fades in the last moments of the second, too fast for 8 regions at 150 ms.
        const excess = regions * roundTripMs > 1_000 ? 50 : regions - 1;
        expect(Math.max(...later), `round trip ${roundTripMs} ms`).toBeLessThanOrEqual(100 + excess);
        expect(Math.min(...later), `round trip ${roundTripMs} ms`).toBeGreaterThanOrEqual(98);
      }
    },
  );

  test.each([
    ['one region has all requests', [1, 0, 0]],
    ['one region has most requests', [0.8, 0.1, 0.1]],
  ])('is not below that of one region where %s', async (_, shares) => {
    for (const roundTripMs of [10, 150]) {
      const { overPercent } = await measureAdmission({ ...admission, roundTripMs, shares, load: 3 });
      expect(overPercent, `round trip ${roundTripMs} ms`).toBeGreaterThan(-1);
    }
  });

  test('is the same every time', async () => {
    const small = { ...admission, windows: 2, limit: 50 };
    expect(await measureAdmission(small)).toEqual(await measureAdmission(small));
  });
});
