import { errors } from '../../errors/errors.js';
import { bytesArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { visibleKeys } from '../../session/permission.js';
import { Glob, keyFilter } from './glob.js';
import { FoundKeys, KeyWalk, walkInSlices } from './key-walk.js';

/** The keys are kept until the last is found, and their number leads the reply. Past this SCAN is the way. */
const MAXIMUM_REPLY_BYTES = 128 * 1024 * 1024;

export const keys = defineCommand({
  name: 'keys',
  arity: 2,
  flags: ['readonly'],
  leavesOutKeys: true,
  // It serves other clients meanwhile, which EXEC rules out.
  givesWay: true,
  group: 'generic',
  summary: 'Returns all keys that match a pattern. Other clients are served meanwhile; SCAN costs less memory.',
  since: '1.0.0',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'pattern',
  run: (call) => {
    const { request, reply, client } = call;
    if (request.argumentLength[1] > Glob.MAXIMUM_BYTES) {
      reply.error(errors.patternTooLong(request.argumentLength[1]));
      return;
    }
    const { database } = client;
    const selection = { database, pattern: keyFilter(bytesArgument(request, 1)), isVisible: visibleKeys(client) };
    const bounds = { count: Number.POSITIVE_INFINITY, maximumBytes: MAXIMUM_REPLY_BYTES };
    const found = new FoundKeys();
    const walk = new KeyWalk(0n, selection, bounds, found.take);
    walkInSlices(call, walk, (resumed) => {
      if (walk.cursor !== 0n) resumed.reply.error(errors.tooManyKeys(MAXIMUM_REPLY_BYTES));
      else found.writeTo(resumed.reply);
    });
  },
});
