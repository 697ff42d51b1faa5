import { errors } from '../../errors/errors.js';
import { argumentIs, keyword, textArgument } from '../../request/arguments.js';
import type { Call, Command } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';

/** Scripts and functions are not supported: these commands reply with the errors that clients of Redis know. */

const SYNC = keyword('sync');
const ASYNC = keyword('async');
const LIBRARYNAME = keyword('libraryname');
const WITHCODE = keyword('withcode');

const define = defineFamily({ flags: ['noscript'], group: 'server', since: '2.6.0' });

const scriptExists = define({
  name: 'exists',
  arity: -3,
  summary: 'Zeros: there are no scripts.',
  complexity: 'O(N) where N is the number of digests',
  syntax: 'sha1 [sha1 ...]',
  run({ request, reply }) {
    reply.array(request.argumentCount - 2);
    for (let index = 2; index < request.argumentCount; index++) reply.integer(0);
  },
});

const scriptFlush = define({
  name: 'flush',
  arity: -2,
  summary: 'Does nothing: there are no scripts.',
  syntax: '[ASYNC | SYNC]',
  run: (call) => flush(call, errors.scriptFlushOption),
});

const scriptLoad = define({
  name: 'load',
  arity: 3,
  flags: ['noscript', 'stale'],
  summary: 'Refused: scripts are not supported.',
  syntax: 'script',
  run: refuse,
});

const functionFlush = define({
  name: 'flush',
  arity: -2,
  flags: ['write', 'noscript'],
  summary: 'Does nothing: there are no functions.',
  since: '7.0.0',
  syntax: '[ASYNC | SYNC]',
  run: (call) => flush(call, errors.functionFlushOption),
});

const functionList = define({
  name: 'list',
  arity: -2,
  summary: 'Nothing: there are no functions.',
  since: '7.0.0',
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

export const script = container({
  name: 'script',
  group: 'server',
  summary: 'Scripts, of which there are none.',
  since: '2.6.0',
  subcommands: [scriptExists, scriptFlush, scriptLoad],
});

/** `function` is a reserved word. */
export const functionCommand = container({
  name: 'function',
  group: 'server',
  summary: 'Functions, of which there are none.',
  since: '7.0.0',
  subcommands: [functionFlush, functionList],
});

function refused(name: string, syntax: string, since: string, run: (call: Call) => void): Command {
  return define({
    name,
    arity: -3,
    flags: ['noscript', 'stale'],
    summary: 'Refused: scripts are not supported.',
    since,
    syntax,
    run,
  });
}

/** EVALSHA replies NOSCRIPT, so that clients fall back to EVAL, whose error names the reason. */
export const scriptCalls: readonly Command[] = [
  refused('eval', 'script numkeys [key [key ...]] [arg [arg ...]]', '2.6.0', refuse),
  refused('eval_ro', 'script numkeys [key [key ...]] [arg [arg ...]]', '7.0.0', refuse),
  refused('evalsha', 'sha1 numkeys [key [key ...]] [arg [arg ...]]', '2.6.0', noScript),
  refused('evalsha_ro', 'sha1 numkeys [key [key ...]] [arg [arg ...]]', '7.0.0', noScript),
  refused('fcall', 'function numkeys [key [key ...]] [arg [arg ...]]', '7.0.0', refuse),
  refused('fcall_ro', 'function numkeys [key [key ...]] [arg [arg ...]]', '7.0.0', refuse),
];

function refuse({ reply }: Call): void {
  reply.error(errors.noScripts);
}

function noScript({ reply }: Call): void {
  reply.error(errors.noScript);
}

function flush({ request, reply }: Call, mistake: string): void {
  const given = request.argumentCount - 2;
  const known = given === 1 && (argumentIs(request, 2, SYNC) || argumentIs(request, 2, ASYNC));
  if (given === 0 || known) reply.ok();
  else reply.error(mistake);
}
