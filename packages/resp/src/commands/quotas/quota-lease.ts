import type { Renewed } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { argumentIs, copyArgument, keyword, numberArgument, textArgument } from '../../request/arguments.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { type Held, writeHeld } from './quota-reserve.js';
import { readOptions } from './take-options.js';

const TTL = keyword('ttl');

const define = defineFamily({ flags: ['write', 'denyoom', 'noscript'], role: 'quota', group: 'quota', since: '0.2.0' });

export const quotaAcquire = define({
  name: 'quota.acquire',
  arity: -5,
  keys: [2, 2, 1],
  summary:
    'Takes a lease of a quota that limits concurrent leases, until QUOTA.RELEASE or the end of its TTL. Returns ' +
    'allowed (1 or 0), the id of the lease, tokens remaining here, tokens remaining in all regions as far as this ' +
    'one knows, -1, and the milliseconds after which a retry makes sense.',
  syntax: 'name subject TTL milliseconds [WAIT milliseconds] [ID token]',
  run(call) {
    const { request, reply } = call;
    const options = argumentIs(request, 3, TTL) ? readOptions(request, 5) : errors.syntax;
    if (typeof options === 'string') return reply.error(options);
    const { waitMs, id } = options;
    const asked = {
      kind: 'acquire',
      name: textArgument(request, 1),
      subject: copyArgument(request, 2),
      ttlMs: numberArgument(request, 4),
      waitMs,
      id,
    } as const;
    askQuotas(call, asked, (resumed, answer: Held) => writeHeld(resumed.reply, answer));
  },
});

export const quotaRenew = define({
  name: 'quota.renew',
  arity: -4,
  summary:
    'Extends a lease to the given TTL from now. Returns renewed (1 or 0), the milliseconds until the lease ends, ' +
    'and the milliseconds after which a retry makes sense.',
  syntax: 'lease TTL milliseconds [WAIT milliseconds]',
  run(call) {
    const { request, reply } = call;
    const options = argumentIs(request, 2, TTL) ? readOptions(request, 4) : errors.syntax;
    if (typeof options === 'string' || options.id !== undefined) {
      reply.error(typeof options === 'string' ? options : errors.syntax);
      return;
    }
    const asked = {
      kind: 'renew',
      lease: textArgument(request, 1),
      ttlMs: numberArgument(request, 3),
      waitMs: options.waitMs,
    } as const;
    askQuotas(call, asked, (resumed, renewed: Exclude<Renewed, { error: string }>) => {
      resumed.reply.array(3);
      resumed.reply.integer(renewed.isRenewed ? 1 : 0);
      resumed.reply.integer(renewed.ttlMs);
      resumed.reply.integer(renewed.retryAfterMs);
    });
  },
});

export const quotaRelease = define({
  name: 'quota.release',
  arity: 2,
  flags: ['write', 'noscript'],
  summary: 'Gives a lease back. Returns 1, or 0 where the lease has ended already.',
  syntax: 'lease',
  run(call) {
    const lease = textArgument(call.request, 1);
    askQuotas(call, { kind: 'release', lease }, ({ reply }, wasHeld: boolean) => reply.integer(wasHeld ? 1 : 0));
  },
});
