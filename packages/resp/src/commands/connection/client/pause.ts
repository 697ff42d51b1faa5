import { errors } from '../../../errors/errors.js';
import { askLanes } from '../../../questions/ask-lanes.js';
import { argumentIs, keyword, numberArgument } from '../../../request/arguments.js';
import type { Call } from '../../../session/command.js';
import { defineFamily } from '../../../session/define.js';

const ALL = keyword('all');
const WRITE = keyword('write');
const TIMEOUT = keyword('timeout');
const ERROR = keyword('error');

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'connection' });

/** The scope of the pause; undefined where it is mistyped. */
function readScope({ request }: Call): 'all' | 'write' | undefined {
  if (request.argumentCount === 3 || argumentIs(request, 3, ALL)) return 'all';
  return argumentIs(request, 3, WRITE) ? 'write' : undefined;
}

export const clientPause = define({
  name: 'pause',
  arity: -3,
  summary: 'Lets the commands of all Redis clients of this server wait, or those that write. Other regions go on.',
  since: '3.0.0',
  complexity: 'O(N) where N is the number of connections',
  syntax: 'timeout [WRITE | ALL]',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount > 4) return reply.error(errors.syntax);
    const scope = readScope(call);
    if (scope === undefined) return reply.error(errors.pauseMode);
    const forMs = numberArgument(request, 2);
    if (Number.isNaN(forMs)) return reply.error(errors.timeoutNotAnInteger);
    if (forMs < 0) return reply.error(errors.timeoutNegative);
    askLanes(call, 'pause', { forMs, scope }, (resumed) => resumed.reply.ok());
  },
});

export const clientUnpause = define({
  name: 'unpause',
  arity: 2,
  summary: 'Ends a pause.',
  since: '6.2.0',
  complexity: 'O(N) where N is the number of connections',
  run(call) {
    askLanes(call, 'pause', null, ({ reply }) => reply.ok());
  },
});

export const clientUnblock = define({
  name: 'unblock',
  arity: -3,
  summary: 'Ends the wait of a connection in a blocking command, as its timeout would, or with an error.',
  since: '5.0.0',
  syntax: 'client-id [TIMEOUT | ERROR]',
  run(call) {
    const { request, reply } = call;
    const isError = request.argumentCount === 4 && argumentIs(request, 3, ERROR);
    if (request.argumentCount > 4) return reply.error(errors.syntax);
    if (request.argumentCount === 4 && !isError && !argumentIs(request, 3, TIMEOUT))
      return reply.error(errors.unblockReason);
    const id = numberArgument(request, 2);
    if (Number.isNaN(id)) return reply.error(errors.notAnInteger);
    askLanes(call, 'unblock', { id, isError }, (resumed, lanes) => resumed.reply.integer(lanes.some(Boolean) ? 1 : 0));
  },
});
