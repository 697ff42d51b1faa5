import { expect, test } from 'vitest';
import { settleOverrides } from './override-changes.js';

const WINDOW_MS = 1000;

test('an override that begins later leaves the one before in force until then', () => {
  const before = [
    { subject: 'acme', limit: 5 },
    { subject: 'other', limit: 6 },
  ];
  const after = settleOverrides(before, [{ subject: 'acme', limit: 9, fromMs: 100 }], WINDOW_MS, 100);
  expect(after).toEqual([
    { subject: 'acme', limit: 9, fromMs: 100 },
    { subject: 'acme', limit: 5 },
  ]);
  const later = settleOverrides(after, [{ subject: 'acme', limit: 9, fromMs: 100 }], WINDOW_MS, 100 + 2 * WINDOW_MS);
  expect(later).toEqual([{ subject: 'acme', limit: 9, fromMs: 100 }]);
});

test('one that is repeated is not put off, and one that goes back to a former limit is', () => {
  const before = [
    { subject: 'acme', limit: 9, fromMs: 100 },
    { subject: 'acme', limit: 5 },
  ];
  expect(settleOverrides(before, [{ subject: 'acme', limit: 9, fromMs: 200 }], WINDOW_MS, 200)).toEqual(before);
  expect(settleOverrides(before, [{ subject: 'acme', limit: 5, fromMs: 200 }], WINDOW_MS, 200)).toEqual([
    { subject: 'acme', limit: 5, fromMs: 200 },
    ...before,
  ]);
});

test('one that holds at once takes the place of all others of its subject', () => {
  const before = [
    { subject: 'acme', limit: 9, fromMs: 5000 },
    { subject: 'acme', limit: 5 },
  ];
  expect(settleOverrides(before, [{ subject: 'acme', limit: 7 }], WINDOW_MS, 100)).toEqual([
    { subject: 'acme', limit: 7 },
  ]);
  expect(settleOverrides(before, undefined, WINDOW_MS, 100)).toEqual([]);
});
