import { expect, test } from 'vitest';
import { ReplyError, TimeoutError } from '../contract/errors.js';
import type { QuotaBackend } from '../quota/quota-options.js';
import { settleReservation, type Unsettled } from './settle-reservation.js';

const SOON_MS = 5_000;

/** A server that settles at its first commit, and fails as the script says: before it did, or after. */
function scripted(script: readonly (Error | { readonly afterwards: Error } | undefined)[]) {
  const settled: number[] = [];
  const ids: (string | undefined)[] = [];
  let call = 0;
  const backend = {
    async quotaCommit(_id: string, actual: number) {
      const step = script[call++];
      if (step instanceof Error) throw step;
      if (settled.length === 0) settled.push(actual);
      if (step !== undefined) throw step.afterwards;
      return { charged: settled[0]!, uncharged: 0 };
    },
    async quotaTake(_name: string, _subject: string, _cost: number, options?: { id?: string }) {
      ids.push(options?.id);
      const step = script[call++];
      if (step instanceof Error) throw step;
      return { allowed: true, remainingHere: 0, remainingEverywhere: 0, resetAfterMs: 1, retryAfterMs: 0 };
    },
  } as unknown as QuotaBackend;
  const unsettled: Unsettled = {
    backend,
    quota: 'tokens',
    subject: 'a',
    reservation: 'r1',
    lapse: 'refund',
    estimate: 9,
  };
  return { unsettled, settled, ids, calls: () => call };
}

const soon = () => performance.now() + SOON_MS;
const lost = new TimeoutError('no reply', true);
const gone = new ReplyError('ERR there is no such reservation: it has lapsed');

test('a commit whose reply was lost is sent again and charges once', async () => {
  const { unsettled, settled, calls } = scripted([lost, { afterwards: lost }, undefined]);
  expect(await settleReservation(unsettled, 7, soon())).toEqual({ charged: 7, uncharged: 0 });
  expect(settled).toEqual([7]);
  expect(calls()).toBe(3);
});

test('a reservation that is gone is charged anew, every try under the same id', async () => {
  const { unsettled, ids } = scripted([gone, lost, undefined]);
  expect(await settleReservation(unsettled, 7, soon())).toEqual({ charged: 7, uncharged: 0 });
  expect(ids).toEqual(['settle r1', 'settle r1']);
});

test('a reservation that is gone is not charged anew where it used nothing, or lapsed as charged', async () => {
  const unused = scripted([gone]);
  expect(await settleReservation(unused.unsettled, 0, soon())).toEqual({ charged: 0, uncharged: 0 });
  const charged = scripted([gone]);
  const lapse = 'charge' as const;
  expect(await settleReservation({ ...charged.unsettled, lapse }, 7, soon())).toEqual({ charged: 9, uncharged: 0 });
  expect([...unused.ids, ...charged.ids]).toEqual([]);
});

test('without a server it is left to lapse at the deadline', async () => {
  const { unsettled } = scripted(Array.from({ length: 100 }, () => lost));
  expect(await settleReservation(unsettled, 7, performance.now() + 120)).toBeUndefined();
});
