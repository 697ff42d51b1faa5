import { MAXIMUM_RESERVATION_MS, type Settlement, type Standing } from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { copyArgument, numberArgument, textArgument } from '../../request/arguments.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { heldIdArgument, idsFor } from './held-id.js';
import { readOptions, readTtl } from './take-options.js';

const define = defineFamily({ flags: ['write', 'denyoom', 'noscript'], role: 'quota', group: 'quota', since: '0.2.0' });

export const quotaReserve = define({
  name: 'quota.reserve',
  arity: -6,
  keys: [2, 2, 1],
  summary:
    'Takes an estimate, to be settled by QUOTA.COMMIT or QUOTA.CANCEL. After its TTL the estimate is refunded or, ' +
    'with LAPSE CHARGE, counts as used. Returns allowed (1 or 0), the id of the reservation, tokens remaining here, ' +
    'tokens remaining in all regions, the milliseconds until the window ends, and those after which a retry makes ' +
    'sense.',
  syntax: 'name subject estimate TTL duration [WAIT duration] [ID token] [LAPSE <REFUND | CHARGE>]',
  run(call) {
    const { request, reply } = call;
    const ttlMs = readTtl(request, 4, MAXIMUM_RESERVATION_MS);
    if (typeof ttlMs === 'string') return reply.error(ttlMs);
    const options = readOptions(request, 6, 'reservation');
    if (typeof options === 'string') return reply.error(options);
    const item = {
      name: textArgument(request, 1),
      subject: copyArgument(request, 2),
      cost: numberArgument(request, 3),
    };
    const asked = { kind: 'reserve', item, ttlMs, ...options } as const;
    const idOf = idsFor(call, 2);
    askQuotas(call, asked, (resumed, answer: Held) => writeHeld(resumed.reply, answer, idOf));
  },
});

export interface Held {
  readonly isAllowed: boolean;
  readonly id: string;
  readonly standing: Standing;
}

/** The reply to QUOTA.RESERVE and QUOTA.ACQUIRE. */
export function writeHeld(reply: ReplyWriter, { isAllowed, id, standing }: Held, idOf: (id: string) => string): void {
  const { remainingHere, remainingEverywhere, resetMs, retryAfterMs } = standing;
  reply.array(6);
  reply.integer(isAllowed ? 1 : 0);
  reply.bulkText(idOf(id));
  for (const number of [remainingHere, remainingEverywhere, resetMs, retryAfterMs]) reply.integer(number);
}

export const quotaCommit = define({
  name: 'quota.commit',
  arity: 3,
  keys: [1, 1, 1],
  summary:
    'Settles a reservation with the actual cost. Returns the tokens charged, and those that could not be charged ' +
    'because the limit was used up.',
  syntax: 'reservation actual',
  run(call) {
    const { request } = call;
    const reservation = heldIdArgument(request, 1);
    const actual = numberArgument(request, 2);
    askQuotas(
      call,
      { kind: 'commit', reservation, actual },
      ({ reply }, settled: Exclude<Settlement, { error: string }>) => {
        reply.array(2);
        reply.integer(settled.charged);
        reply.integer(settled.uncharged);
      },
    );
  },
});

export const quotaCancel = define({
  name: 'quota.cancel',
  arity: 2,
  keys: [1, 1, 1],
  flags: ['write', 'noscript'],
  summary: 'Gives a reservation back. Returns 1, or 0 where there is no such open reservation.',
  syntax: 'reservation',
  run(call) {
    const reservation = heldIdArgument(call.request, 1);
    askQuotas(call, { kind: 'cancel', reservation }, ({ reply }, wasHeld: boolean) => reply.integer(wasHeld ? 1 : 0));
  },
});
