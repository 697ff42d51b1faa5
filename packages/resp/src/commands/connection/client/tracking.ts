import { errors } from '../../../errors/errors.js';
import { replyTexts } from '../../../reply/values.js';
import { argumentIs, keyword } from '../../../request/arguments.js';
import { defineFamily } from '../../../session/define.js';

/**
 * Client-side caching. It is refused, and OFF is accepted: with an OK and no notifications, a client would show old
 * counts for ever.
 */

const ON = keyword('on');
const OFF = keyword('off');

const define = defineFamily({ flags: ['noscript', 'loading', 'stale'], group: 'connection', since: '6.0.0' });

export const clientTracking = define({
  name: 'tracking',
  arity: -3,
  summary: 'Refused: no client is notified of changes. OFF does nothing.',
  syntax: '<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]',
  run({ request, reply }) {
    if (argumentIs(request, 2, OFF)) reply.ok();
    else reply.error(argumentIs(request, 2, ON) ? errors.noTracking : errors.syntax);
  },
});

export const clientTrackingInfo = define({
  name: 'trackinginfo',
  arity: 2,
  summary: 'Tracking of this connection: always off.',
  since: '6.2.0',
  run({ reply }) {
    reply.map(3);
    reply.bulkText('flags');
    reply.set(1);
    reply.bulkText('off');
    reply.bulkText('redirect');
    reply.integer(-1);
    reply.bulkText('prefixes');
    replyTexts(reply, []);
  },
});

export const clientCaching = define({
  name: 'caching',
  arity: 3,
  summary: 'Refused: tracking is off.',
  syntax: '<YES | NO>',
  run({ reply }) {
    reply.error(errors.cachingWithoutTracking);
  },
});

export const clientGetRedir = define({
  name: 'getredir',
  arity: 2,
  summary: 'The connection that is notified for this one: always -1, none.',
  run({ reply }) {
    reply.integer(-1);
  },
});
