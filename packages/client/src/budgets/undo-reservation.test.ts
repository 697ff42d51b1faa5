import { expect, test } from 'vitest';
import { ReplyError, TimeoutError } from '../contract/errors.js';
import type { QuotaBackend } from '../quota/quota-options.js';
import { undoReservation } from './undo-reservation.js';

const lost = new TimeoutError('no reply', true);

/** A server that made the reservation r1 for the id, and fails as the script says. */
function scripted(script: readonly (Error | undefined)[]) {
  const settled: [string, number][] = [];
  const ids: (string | undefined)[] = [];
  let call = 0;
  const step = () => {
    const error = script[call++];
    if (error !== undefined) throw error;
  };
  const backend = {
    async quotaReserve(_name: string, _subject: string, _size: number, _ttlMs: number, options?: { id?: string }) {
      ids.push(options?.id);
      step();
      return { allowed: true, reservation: 'r1' };
    },
    async quotaCommit(id: string, actual: number) {
      step();
      settled.push([id, actual]);
      return { charged: actual, uncharged: 0 };
    },
  } as unknown as QuotaBackend;
  const doubtful = { backend, quota: 'q', subject: 's', estimate: 9, ttlMs: 1_000, lapse: 'refund', id: 'i' } as const;
  return { doubtful, settled, ids };
}

test('a reservation whose answer was lost is found by its id and settled with nothing', async () => {
  const { doubtful, settled, ids } = scripted([lost, undefined, lost, undefined, undefined]);
  await undoReservation(doubtful, performance.now() + 10_000);
  expect(settled).toEqual([['r1', 0]]);
  expect(new Set(ids)).toEqual(new Set(['i']));
});

test('an error of the server ends it: there is no reservation', async () => {
  const { doubtful, settled, ids } = scripted([new ReplyError('ERR there is no quota')]);
  await undoReservation(doubtful, performance.now() + 10_000);
  expect(settled).toEqual([]);
  expect(ids).toHaveLength(1);
});
