import { errors } from '../../errors/errors.js';
import { argumentIs, bytesArgument, keyword } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';

const SYNC = keyword('sync');
const ASYNC = keyword('async');

const define = defineFamily({ flags: ['noscript'], group: 'scripting', since: '2.6.0' });

const scriptDebug = define({
  name: 'debug',
  arity: 3,
  summary: 'Refused: scripts cannot be stepped through.',
  since: '3.2.0',
  syntax: '<YES | SYNC | NO>',
  run({ reply }) {
    reply.error(errors.scriptNoDebug);
  },
});

const scriptExists = define({
  name: 'exists',
  arity: -3,
  summary: 'Which scripts are there, 1 or 0 for each digest.',
  complexity: 'O(N) where N is the number of digests',
  syntax: 'sha1 [sha1 ...]',
  run({ request, reply, server }) {
    const { board } = server.scripts;
    reply.array(request.argumentCount - 2);
    for (let index = 2; index < request.argumentCount; index++) {
      reply.integer(board.has(latin1Argument(request, index).toLowerCase()) ? 1 : 0);
    }
  },
});

const scriptFlush = define({
  name: 'flush',
  arity: -2,
  role: 'admin',
  summary: 'Removes all scripts.',
  complexity: 'O(N) where N is the number of scripts',
  syntax: '[ASYNC | SYNC]',
  run(call) {
    if (!isFlushOption(call)) return call.reply.error(errors.scriptFlushOption);
    call.server.scripts.board.flush();
    call.reply.ok();
  },
});

const scriptKill = define({
  name: 'kill',
  arity: 2,
  flags: ['noscript', 'allow_busy'],
  role: 'admin',
  summary: 'Ends scripts that have run for longer than busy-reply-threshold and have not written.',
  run({ reply, server }) {
    const { killed, unkillable } = server.scripts.board.kill();
    if (killed > 0) reply.ok();
    else reply.error(unkillable > 0 ? errors.scriptUnkillable : errors.scriptNotBusy);
  },
});

const scriptLoad = define({
  name: 'load',
  arity: 3,
  flags: ['noscript', 'stale'],
  summary: 'Keeps a script for EVALSHA and returns its digest.',
  complexity: 'O(N) where N is the length of the script',
  syntax: 'script',
  run({ request, reply, server }) {
    const result = server.scripts.load(latin1Argument(request, 2));
    if ('error' in result) reply.errorLatin1(result.error);
    else reply.bulkLatin1(result.digest);
  },
});

export const script = container({
  name: 'script',
  group: 'scripting',
  summary: 'The scripts that EVALSHA can run.',
  since: '2.6.0',
  subcommands: [scriptDebug, scriptExists, scriptFlush, scriptKill, scriptLoad],
});

function latin1Argument(request: Call['request'], index: number): string {
  return Buffer.from(bytesArgument(request, index)).toString('latin1');
}

/** FLUSH without a word, or with SYNC or ASYNC, which are the same here. */
export function isFlushOption({ request }: Call): boolean {
  const given = request.argumentCount - 2;
  return given === 0 || (given === 1 && (argumentIs(request, 2, SYNC) || argumentIs(request, 2, ASYNC)));
}
