import { MAXIMUM_LEASE_MS, type Renewed } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { copyArgument, textArgument } from '../../request/arguments.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { heldIdArgument, idsFor } from './held-id.js';
import { type Held, writeHeld } from './quota-reserve.js';
import { readOptions, readTtl } from './take-options.js';

const define = defineFamily({ flags: ['write', 'denyoom', 'noscript'], role: 'quota', group: 'quota', since: '0.2.0' });

export const quotaAcquire = define({
  name: 'quota.acquire',
  arity: -5,
  keys: [2, 2, 1],
  summary:
    'Takes a lease of a quota that limits concurrent leases, until QUOTA.RELEASE or the end of its TTL. Returns ' +
    'allowed (1 or 0), the id of the lease, tokens remaining here, tokens remaining in all regions as far as this ' +
    'one knows, -1, and the milliseconds after which a retry makes sense.',
  syntax: 'name subject TTL duration [WAIT duration] [ID token]',
  run(call) {
    const { request, reply } = call;
    const ttlMs = readTtl(request, 3, MAXIMUM_LEASE_MS);
    if (typeof ttlMs === 'string') return reply.error(ttlMs);
    const options = readOptions(request, 5);
    if (typeof options === 'string') return reply.error(options);
    const { waitMs, id } = options;
    const asked = {
      kind: 'acquire',
      name: textArgument(request, 1),
      subject: copyArgument(request, 2),
      ttlMs,
      waitMs,
      id,
    } as const;
    const idOf = idsFor(call, 2);
    askQuotas(call, asked, (resumed, answer: Held) => writeHeld(resumed.reply, answer, idOf));
  },
});

export const quotaRenew = define({
  name: 'quota.renew',
  arity: -4,
  keys: [1, 1, 1],
  summary:
    'Extends a lease to the given TTL from now. Returns renewed (1 or 0), the milliseconds until the lease ends, ' +
    'and the milliseconds after which a retry makes sense.',
  syntax: 'lease TTL duration [WAIT duration]',
  run(call) {
    const { request, reply } = call;
    const ttlMs = readTtl(request, 2, MAXIMUM_LEASE_MS);
    if (typeof ttlMs === 'string') return reply.error(ttlMs);
    const options = readOptions(request, 4);
    if (typeof options === 'string') return reply.error(options);
    if (options.id !== undefined) return reply.error(errors.quota('QUOTA.RENEW takes no ID: the lease is its own'));
    const asked = {
      kind: 'renew',
      lease: heldIdArgument(request, 1),
      ttlMs,
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
  keys: [1, 1, 1],
  flags: ['write', 'noscript'],
  summary: 'Gives a lease back. Returns 1, or 0 where the lease has ended already.',
  syntax: 'lease',
  run(call) {
    const lease = heldIdArgument(call.request, 1);
    askQuotas(call, { kind: 'release', lease }, ({ reply }, wasHeld: boolean) => reply.integer(wasHeld ? 1 : 0));
  },
});
