import { errors } from '../../errors/errors.js';
import type { Call } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';

/** OBJECT: every value is an integer with one reference, and access times are not kept. */

const KEY = 2;

/** Replies null where there is no such key; otherwise `reply` writes the reply. */
function aboutKey(call: Call, reply: (call: Call) => void): void {
  const { request, engine } = call;
  const exists = engine.open(request.input, request.argumentStart[KEY], request.argumentLength[KEY]);
  engine.close();
  if (exists) reply(call);
  else call.reply.nil();
}

const define = defineFamily({
  arity: 3,
  flags: ['readonly'],
  keys: [KEY, KEY, 1],
  group: 'generic',
  syntax: 'key',
});

export const object = container({
  name: 'object',
  group: 'generic',
  summary: 'How a value is stored.',
  since: '2.2.3',
  subcommands: [
    define({
      name: 'encoding',
      summary: 'Returns how a value is encoded: always int.',
      since: '2.2.3',
      run: (call) => aboutKey(call, ({ reply }) => reply.bulkText('int')),
    }),
    define({
      name: 'refcount',
      summary: 'Returns the number of references to a value: always 1.',
      since: '2.2.3',
      run: (call) => aboutKey(call, ({ reply }) => reply.integer(1)),
    }),
    define({
      name: 'idletime',
      summary: 'Returns the time since the last access: always 0, access times are not kept.',
      since: '2.2.3',
      run: (call) => aboutKey(call, ({ reply }) => reply.integer(0)),
    }),
    define({
      name: 'freq',
      summary: 'Refused: access frequencies are not kept.',
      since: '4.0.0',
      run: (call) => aboutKey(call, ({ reply }) => reply.error(errors.frequencyNotTracked)),
    }),
  ],
});
