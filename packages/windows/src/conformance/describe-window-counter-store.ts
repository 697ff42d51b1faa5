import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TimeWindowCounter } from '../counter/time-window-counter.js';
import type { WindowCounterStore } from '../window/store.js';
import { fixedWindowAt, nextWindow, previousWindow, type Window, windowEndMs, windowFrom } from '../window/window.js';
import { randomOperations } from './random-operations.js';

/** A store to be tested, and ways to look at it from outside. Only the store itself is required. */
export interface WindowCounterStoreHarness {
  readonly store: WindowCounterStore;
  /** The same counts through an object or a connection of its own, as another process has them. */
  readonly another?: () => WindowCounterStore | Promise<WindowCounterStore>;
  /** How long past the end of a window its count may still be seen; 0 if left out. */
  readonly keptForMs?: number;
  /** How many counts are held, whether they can still be seen or not; after the store had a chance to drop some. */
  readonly held?: () => Promise<number>;
  /** Makes every operation fail from now on; called last. */
  readonly breakDown?: () => Promise<void>;
  readonly close?: () => Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CONCURRENT_INCREMENTS = 3_000;
const SHORT_WINDOW_MS = 40;
/** Past what a store promises, for machines that are busy with other things. */
const PATIENCE_MS = 10_000;
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Tests a store against the contract of `WindowCounterStore`, with vitest: a group for each required capability, one
 * for the optional ones, one for what a store must not do.
 */
export function describeWindowCounterStore(
  name: string,
  makeStore: () => WindowCounterStoreHarness | Promise<WindowCounterStoreHarness>,
): void {
  describe(`${name} keeps the contract of a window counter store`, () => {
    let harness: WindowCounterStoreHarness;
    let store: WindowCounterStore;
    let keys = 0;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => harness?.close?.());

    /** An hour that is not over while the tests run, whenever they do. */
    const hour: Window = windowFrom(Date.now() - MINUTE_MS, HOUR_MS);
    const freshKey = () => `key ${process.pid}:${Date.now()}:${++keys}`;
    const several = async () => [store, (await harness.another?.()) ?? store] as const;

    describe('atomic increment (must)', () => {
      test('an increment adds its amount, 1 unless it is said, and returns the count right after it', async () => {
        const key = freshKey();
        expect(await store.increment(key, hour)).toBe(1n);
        expect(await store.increment(key, hour, 41)).toBe(42n);
        expect(await store.increment(key, hour, 0)).toBe(42n);
        expect(await store.increment(key, hour, 8n)).toBe(50n);
      });

      test('of thousands of concurrent increments none is lost, and each sees a count of its own', async () => {
        const key = freshKey();
        const stores = await several();
        const counts = await Promise.all(
          Array.from({ length: CONCURRENT_INCREMENTS }, (_, index) => stores[index % 2]!.increment(key, hour)),
        );
        expect(await store.read(key, hour)).toBe(BigInt(CONCURRENT_INCREMENTS));
        expect(new Set(counts).size).toBe(CONCURRENT_INCREMENTS);
        expect(counts.reduce((highest, count) => (count > highest ? count : highest))).toBe(
          BigInt(CONCURRENT_INCREMENTS),
        );
      });

      test('concurrent increments of many keys and amounts add up for each of them', async () => {
        const stores = await several();
        const names = Array.from({ length: 20 }, freshKey);
        await Promise.all(
          Array.from({ length: 1_000 }, (_, index) =>
            stores[index % 2]!.increment(names[index % names.length]!, hour, index),
          ),
        );
        for (const [place, key] of names.entries()) {
          const amounts = Array.from({ length: 50 }, (_, turn) => turn * names.length + place);
          expect(await store.read(key, hour)).toBe(BigInt(amounts.reduce((sum, amount) => sum + amount, 0)));
        }
      });

      test('counts are exact to 64 bits', async () => {
        const key = freshKey();
        expect(await store.increment(key, hour, 2n ** 53n)).toBe(2n ** 53n);
        expect(await store.increment(key, hour)).toBe(2n ** 53n + 1n);
        expect(await store.increment(key, hour, INT64_MAX - 2n ** 53n - 2n)).toBe(INT64_MAX - 1n);
        expect(await store.read(key, hour)).toBe(INT64_MAX - 1n);
      });

      test('an increment that would leave 64 bits fails, and nothing of it is applied', async () => {
        const key = freshKey();
        await store.increment(key, hour, INT64_MAX);
        await expect(store.increment(key, hour)).rejects.toThrow();
        expect(await store.read(key, hour)).toBe(INT64_MAX);
      });

      test.each([-1, -1n, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2n ** 63n])(
        'an amount of %s is refused, and nothing is counted',
        async (amount) => {
          const key = freshKey();
          await expect(store.increment(key, hour, amount)).rejects.toThrow();
          expect(await store.read(key, hour)).toBe(0n);
        },
      );
    });

    describe('window-scoped isolation (must)', () => {
      test('a window does not see what the ones before and after it counted', async () => {
        const key = freshKey();
        await store.increment(key, hour, 5);
        await store.increment(key, nextWindow(hour), 7);
        expect(await store.read(key, hour)).toBe(5n);
        expect(await store.read(key, nextWindow(hour))).toBe(7n);
        expect(await store.read(key, nextWindow(nextWindow(hour)))).toBe(0n);
        expect(await store.increment(key, nextWindow(hour))).toBe(8n);
        expect(await store.read(key, hour)).toBe(5n);
      });

      test('at the boundary the last millisecond and the next are in different windows', async () => {
        const key = freshKey();
        const boundaryMs = windowEndMs(hour);
        for (const offsetMs of [-1, 0, 1]) {
          await store.increment(key, fixedWindowAt(boundaryMs + offsetMs, HOUR_MS, hour.startMs));
        }
        expect(await store.read(key, hour)).toBe(1n);
        expect(await store.read(key, nextWindow(hour))).toBe(2n);
      });

      test('windows that overlap, one millisecond longer or later, count apart', async () => {
        const key = freshKey();
        const { startMs, durationMs } = hour;
        const windows = [hour, windowFrom(startMs, durationMs + 1), windowFrom(startMs + 1, durationMs)];
        for (const [place, window] of windows.entries()) await store.increment(key, window, place + 1);
        for (const [place, window] of windows.entries()) expect(await store.read(key, window)).toBe(BigInt(place + 1));
      });

      test('keys count apart, also those that are part of one another or hold unusual characters', async () => {
        const base = freshKey();
        const { startMs, durationMs } = hour;
        const names = [
          ...[
            base,
            `${base} `,
            `${base}:`,
            `${base}\0`,
            `${base}\0\0`,
            `${base}\n`,
            `${base}%`,
            `${base}é`,
            `${base}e\u0301`,
          ],
          ...[
            `${base}:${startMs}`,
            `${durationMs}:${startMs}:${base}`,
            `${base}{tag}`,
            `${base}🙂`,
            base.toUpperCase(),
          ],
          `${base}${'long'.repeat(200)}`,
        ];
        for (const [place, key] of names.entries()) await store.increment(key, hour, place + 1);
        for (const [place, key] of names.entries()) expect(await store.read(key, hour)).toBe(BigInt(place + 1));
      });

      test('a key that has no bytes of its own is refused instead of being taken for another', async () => {
        await expect(store.increment('half \ud800', hour)).rejects.toThrow();
        await expect(store.read('half \udfff', hour)).rejects.toThrow();
      });

      test.each([
        ['no duration', { startMs: 0, durationMs: 0 }],
        ['a negative duration', { startMs: 0, durationMs: -1 }],
        ['half a millisecond', { startMs: 0.5, durationMs: 1 }],
        ['no number', { startMs: Number.NaN, durationMs: 1 }],
      ])('a window with %s is refused', async (_, window) => {
        await expect(store.increment(freshKey(), window)).rejects.toThrow(RangeError);
        await expect(store.read(freshKey(), window)).rejects.toThrow(RangeError);
      });
    });

    describe('time-bound expiration (must)', () => {
      test('a count is there for the whole of its window and gone soon after', { timeout: 60_000 }, async () => {
        const heldBefore = await harness.held?.();
        const key = freshKey();
        const window = windowFrom(Date.now(), 1_000);
        expect(await store.increment(key, window)).toBe(1n);
        const seen = await store.read(key, window);
        if (Date.now() < windowEndMs(window)) expect(seen).toBe(1n);
        const deadlineMs = windowEndMs(window) + (harness.keptForMs ?? 0) + PATIENCE_MS;
        await until(async () => (await store.read(key, window)) === 0n, deadlineMs);
        if (heldBefore !== undefined) await until(async () => (await harness.held!()) <= heldBefore, deadlineMs);
      });

      test('a window that is over leaves the next one untouched', async () => {
        const key = freshKey();
        const over = windowFrom(Date.now(), SHORT_WINDOW_MS);
        await store.increment(key, over, 100);
        await until(async () => Date.now() >= windowEndMs(over), Date.now() + PATIENCE_MS);
        const current = windowFrom(windowEndMs(over), HOUR_MS);
        expect(await store.increment(key, current)).toBe(1n);
        expect(await store.read(key, nextWindow(over))).toBe(0n);
      });

      test('counting in a window of long ago leaves nothing behind', async () => {
        const key = freshKey();
        const heldBefore = await harness.held?.();
        // A store may refuse, or count for this one caller.
        await store.increment(key, windowFrom(1_000, 1_000)).catch(() => undefined);
        expect(await store.read(key, windowFrom(1_000, 1_000))).toBe(0n);
        if (heldBefore !== undefined) expect(await harness.held!()).toBeLessThanOrEqual(heldBefore);
      });
    });

    describe('reading (must)', () => {
      test('what was never counted is 0', async () => {
        expect(await store.read(freshKey(), hour)).toBe(0n);
      });

      test('every client reads the same count', async () => {
        const key = freshKey();
        const [one, other] = await several();
        await one.increment(key, hour, 3);
        expect(await other.read(key, hour)).toBe(3n);
        expect(await one.read(key, hour)).toBe(3n);
      });

      test('reading changes nothing', async () => {
        const key = freshKey();
        const heldBefore = await harness.held?.();
        for (let turn = 0; turn < 10; turn++) expect(await store.read(key, hour)).toBe(0n);
        if (heldBefore !== undefined) expect(await harness.held!()).toBeLessThanOrEqual(heldBefore);
        await store.increment(key, hour);
        for (let turn = 0; turn < 10; turn++) expect(await store.read(key, hour)).toBe(1n);
        expect(await store.increment(key, hour)).toBe(2n);
      });
    });

    describe('what a store may do besides', () => {
      test('expiration metadata, where there are any, agree with the window', async ({ skip }) => {
        if (store.expiry === undefined) return skip('this store has none');
        const key = freshKey();
        expect(await store.expiry(key, hour)).toBeUndefined();
        await store.increment(key, hour);
        const expiry = await store.expiry(key, hour);
        expect(expiry?.endMs).toBe(windowEndMs(hour));
        const leftMs = windowEndMs(hour) - Date.now();
        expect(expiry!.remainingMs).toBeGreaterThan(leftMs - PATIENCE_MS);
        expect(expiry!.remainingMs).toBeLessThanOrEqual(leftMs + (harness.keptForMs ?? 0) + PATIENCE_MS);
        // Of another key, and of another window of the same one, nothing is known.
        expect(await store.expiry(freshKey(), hour)).toBeUndefined();
        const next = { startMs: windowEndMs(hour), durationMs: hour.durationMs };
        expect(await store.expiry(key, next)).toBeUndefined();
      });

      test('a count is made on demand: those who count first at once do not get in each other’s way', async () => {
        const stores = await several();
        for (let round = 0; round < 10; round++) {
          const key = freshKey();
          const counts = await Promise.all(
            Array.from({ length: 20 }, (_, index) => stores[index % 2]!.increment(key, hour)),
          );
          expect(counts.toSorted((one, other) => Number(one - other))).toEqual(
            Array.from({ length: 20 }, (_, index) => BigInt(index + 1)),
          );
        }
      });
    });

    describe('what a store must not do', () => {
      test('decide, enforce, block or throttle: every amount is counted, however large and fast', async () => {
        const key = freshKey();
        for (let turn = 1; turn <= 50; turn++) {
          expect(await store.increment(key, hour, 1_000_000)).toBe(BigInt(turn) * 1_000_000n);
        }
      });

      test('slide or smooth: the first count of a window is its amount, whatever the one before holds', async () => {
        const key = freshKey();
        await store.increment(key, hour, 1_000_000);
        expect(await store.increment(key, nextWindow(hour), 1)).toBe(1n);
      });

      test('carry counts back into a window from later ones', async () => {
        const key = freshKey();
        await store.increment(key, nextWindow(hour), 9);
        expect(await store.read(key, hour)).toBe(0n);
        expect(await store.read(key, previousWindow(hour))).toBe(0n);
      });

      test('behave differently the second time: the same operations come to the same counts', async () => {
        for (const seed of [1, 2, 3]) {
          const [expected, once, again] = [new Map<string, bigint>(), freshKey(), freshKey()];
          for (const { key, later, amount } of randomOperations(seed, 60)) {
            const window = later ? nextWindow(hour) : hour;
            const place = `${key} ${later}`;
            const count = (expected.get(place) ?? 0n) + amount;
            expected.set(place, count);
            expect(await store.increment(`${once} ${key}`, window, amount)).toBe(count);
            expect(await store.increment(`${again} ${key}`, window, amount)).toBe(count);
          }
        }
      });
    });

    describe('failure', () => {
      test('of the store is surfaced as it is', async ({ skip }) => {
        if (harness.breakDown === undefined) return skip('this store cannot be made to fail');
        await harness.breakDown();
        const failure = await store.increment(freshKey(), hour).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(Error);
        const counter = new TimeWindowCounter({ store, durationMs: HOUR_MS });
        await expect(counter.increment(freshKey())).rejects.toThrow((failure as Error).message);
        await expect(counter.read(freshKey())).rejects.toThrow();
      });
    });
  });
}

async function until(condition: () => Promise<boolean>, deadlineMs: number): Promise<void> {
  while (!(await condition())) {
    if (Date.now() > deadlineMs) throw new Error('the condition did not hold in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
