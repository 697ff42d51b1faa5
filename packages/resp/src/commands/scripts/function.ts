import { errors } from '../../errors/errors.js';
import { argumentIs, keyword, textArgument } from '../../request/arguments.js';
import type { Call, Command } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { isFlushOption } from './script.js';

/** Functions are not supported: these commands answer as a server without any does, and refuse to make one. */

/** Of FCALL: the position of the number of keys, as in EVAL. */
const KEY_COUNT = 2;
const LIBRARYNAME = keyword('libraryname');
const WITHCODE = keyword('withcode');

const define = defineFamily({ flags: ['noscript'], group: 'scripting', since: '7.0.0' });

const functionFlush = define({
  name: 'flush',
  arity: -2,
  flags: ['write', 'noscript'],
  summary: 'Does nothing: there are no functions.',
  syntax: '[ASYNC | SYNC]',
  run(call) {
    if (isFlushOption(call)) call.reply.ok();
    else call.reply.error(errors.functionFlushOption);
  },
});

const functionKill = define({
  name: 'kill',
  arity: 2,
  flags: ['noscript', 'allow_busy'],
  summary: 'Nothing runs: there are no functions.',
  run({ reply }) {
    reply.error(errors.scriptNotBusy);
  },
});

const functionList = define({
  name: 'list',
  arity: -2,
  summary: 'Nothing: there are no functions.',
  syntax: '[LIBRARYNAME library-name-pattern] [WITHCODE]',
  run({ request, reply }) {
    for (let index = 2; index < request.argumentCount; index++) {
      if (argumentIs(request, index, LIBRARYNAME) && index + 1 < request.argumentCount) index++;
      else if (!argumentIs(request, index, WITHCODE)) {
        reply.error(errors.unknownArgument(textArgument(request, index)));
        return;
      }
    }
    reply.array(0);
  },
});

const functionStats = define({
  name: 'stats',
  arity: 2,
  flags: ['noscript', 'allow_busy'],
  summary: 'No function runs, and the engine LUA has none.',
  run({ reply }) {
    reply.map(2);
    reply.bulkText('running_script');
    reply.nil();
    reply.bulkText('engines');
    reply.map(1);
    reply.bulkText('LUA');
    reply.map(2);
    reply.bulkText('libraries_count');
    reply.integer(0);
    reply.bulkText('functions_count');
    reply.integer(0);
  },
});

function refused(name: string, arity: number, syntax: string, flags: Command['flags'] = ['noscript']): Command {
  return define({ name, arity, flags, summary: 'Refused: functions are not supported.', syntax, run: refuse });
}

/** `function` is a reserved word. */
export const functionCommand = container({
  name: 'function',
  group: 'scripting',
  summary: 'Functions, of which there are none.',
  since: '7.0.0',
  subcommands: [
    refused('delete', 3, 'library-name', ['write', 'noscript']),
    refused('dump', 2, ''),
    functionFlush,
    functionKill,
    functionList,
    refused('load', -3, '[REPLACE] function-code', ['write', 'denyoom', 'noscript']),
    refused('restore', -3, 'serialized-value [FLUSH | APPEND | REPLACE]', ['write', 'denyoom', 'noscript']),
    functionStats,
  ],
});

export const functionCalls: readonly Command[] = ['fcall', 'fcall_ro'].map((name) => ({
  ...refused(name, -3, 'function numkeys [key [key ...]] [arg [arg ...]]', [
    ...(name === 'fcall_ro' ? (['readonly'] as const) : []),
    'noscript',
    'stale',
    'skip_monitor',
    'no_mandatory_keys',
    'movablekeys',
  ]),
  keyCountAt: KEY_COUNT,
}));

function refuse({ reply }: Call): void {
  reply.error(errors.noFunctions);
}
