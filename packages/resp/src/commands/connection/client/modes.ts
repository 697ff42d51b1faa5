import { errors } from '../../../errors/errors.js';
import { argumentIs, keyword } from '../../../request/arguments.js';
import { type Client, ReplyMode } from '../../../session/client.js';
import type { Command } from '../../../session/command.js';
import { defineFamily } from '../../../session/define.js';

const ON = keyword('on');
const OFF = keyword('off');
const SKIP = keyword('skip');

/** Runs a command whose one argument is ON or OFF. */
function turn(set: (client: Client, isOn: boolean) => void): NonNullable<Command['run']> {
  return ({ request, client, reply }) => {
    const isOn = argumentIs(request, 2, ON);
    if (!isOn && !argumentIs(request, 2, OFF)) return reply.error(errors.syntax);
    set(client, isOn);
    reply.ok();
  };
}

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'connection' });

export const clientNoEvict = define({
  name: 'no-evict',
  arity: 3,
  summary: 'Accepted for compatibility; connections are never evicted.',
  since: '7.0.0',
  syntax: '<ON | OFF>',
  run: turn((client, isOn) => {
    client.noEvict = isOn;
  }),
});

export const clientNoTouch = define({
  name: 'no-touch',
  arity: 3,
  flags: ['noscript', 'loading', 'stale'],
  summary: 'Accepted for compatibility; access times of keys are not kept.',
  since: '7.2.0',
  syntax: '<ON | OFF>',
  run: turn((client, isOn) => {
    client.noTouch = isOn;
  }),
});

export const clientReply = define({
  name: 'reply',
  arity: 3,
  flags: ['noscript', 'loading', 'stale'],
  summary: 'Turns replies to this connection on, off, or off for the next command.',
  since: '3.2.0',
  syntax: '<ON | OFF | SKIP>',
  run({ request, client, reply }) {
    if (argumentIs(request, 2, ON)) {
      client.replyMode = ReplyMode.On;
      reply.ok();
    } else if (argumentIs(request, 2, OFF)) {
      client.replyMode = ReplyMode.Off;
    } else if (argumentIs(request, 2, SKIP)) {
      if (client.replyMode !== ReplyMode.Off) client.replyMode = ReplyMode.SkipNext;
    } else {
      reply.error(errors.syntax);
    }
  },
});
