import type { Settlement, Standing } from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, copyArgument, keyword, numberArgument, textArgument } from '../../request/arguments.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { readOptions } from './take-options.js';

const TTL = keyword('ttl');

const define = defineFamily({ flags: ['write', 'denyoom', 'noscript'], role: 'quota', group: 'quota', since: '0.2.0' });

export const quotaReserve = define({
  name: 'quota.reserve',
  arity: -6,
  keys: [2, 2, 1],
  summary:
    'Takes an estimate, to be settled by QUOTA.COMMIT or QUOTA.CANCEL; after its TTL it comes back or, with LAPSE CHARGE, counts as used: allowed, the id of the reservation, remaining here, remaining everywhere, milliseconds until the window is over, milliseconds until it is worth trying again.',
  syntax: 'name subject estimate TTL milliseconds [WAIT milliseconds] [ID token] [LAPSE REFUND|CHARGE]',
  run(call) {
    const { request, reply } = call;
    const options = argumentIs(request, 4, TTL) ? readOptions(request, 6, true) : errors.syntax;
    if (typeof options === 'string') return reply.error(options);
    const item = {
      name: textArgument(request, 1),
      subject: copyArgument(request, 2),
      cost: numberArgument(request, 3),
    };
    const asked = { kind: 'reserve', item, ttlMs: numberArgument(request, 5), ...options } as const;
    askQuotas(call, asked, (resumed, answer: Held) => writeHeld(resumed.reply, answer));
  },
});

export interface Held {
  readonly isAllowed: boolean;
  readonly id: string;
  readonly standing: Standing;
}

/** What is held under an id, where it was allowed. */
export function writeHeld(reply: ReplyWriter, { isAllowed, id, standing }: Held): void {
  const { remainingHere, remainingEverywhere, resetMs, retryAfterMs } = standing;
  reply.array(6);
  reply.integer(isAllowed ? 1 : 0);
  reply.bulkText(id);
  for (const number of [remainingHere, remainingEverywhere, resetMs, retryAfterMs]) reply.integer(number);
}

export const quotaCommit = define({
  name: 'quota.commit',
  arity: 3,
  summary:
    'Settles a reservation with what it cost in truth: what was charged, and what could not be because the limit had no more.',
  syntax: 'reservation actual',
  run(call) {
    const { request } = call;
    const reservation = textArgument(request, 1);
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
  flags: ['write', 'noscript'],
  summary: 'Gives a reservation back: 1, or 0 where there is none that is not settled.',
  syntax: 'reservation',
  run(call) {
    const reservation = textArgument(call.request, 1);
    askQuotas(call, { kind: 'cancel', reservation }, ({ reply }, wasHeld: boolean) => reply.integer(wasHeld ? 1 : 0));
  },
});
