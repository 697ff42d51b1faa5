import { errors } from '../../errors/errors.js';
import { argumentIs, bytesArgument, keyword, numberArgument, textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { visibleKeys } from '../../session/permission.js';
import { Glob, keyFilter } from './glob.js';
import { FoundKeys, KeyWalk, walkInSlices } from './key-walk.js';
import { parseScanCursor } from './scan-cursor.js';
import { TYPE_NAME } from './type.js';

const MATCH = keyword('MATCH');
const COUNT = keyword('COUNT');
const TYPE = keyword('TYPE');
const FIRST_OPTION = 2;
const DEFAULT_COUNT = 10;

/** COUNT is a hint: one call stops here at the latest, and the client continues with the cursor. */
const MAX_COUNT = 1_000_000;
const MAX_FOUND_BYTES = 16 * 1024 * 1024;

interface ScanOptions {
  count: number;
  /** The index of the pattern; 0 where there is none. */
  patternAt: number;
  /** Whether TYPE asks for counters; there are no keys of other types. */
  typeFits: boolean;
}

/** The options after the cursor; undefined after an error reply. */
function readOptions({ request, reply }: Call): ScanOptions | undefined {
  const options: ScanOptions = { count: DEFAULT_COUNT, patternAt: 0, typeFits: true };
  for (let index = FIRST_OPTION; index < request.argumentCount; index += 2) {
    if (index + 1 === request.argumentCount) {
      reply.error(errors.syntax);
      return undefined;
    }
    if (argumentIs(request, index, COUNT)) {
      const count = numberArgument(request, index + 1);
      if (!(count >= 1)) {
        reply.error(Number.isNaN(count) ? errors.notAnInteger : errors.syntax);
        return undefined;
      }
      options.count = Math.min(count, MAX_COUNT);
    } else if (argumentIs(request, index, MATCH)) {
      if (request.argumentLength[index + 1] > Glob.MAXIMUM_BYTES) {
        reply.error(errors.patternTooLong(request.argumentLength[index + 1]));
        return undefined;
      }
      options.patternAt = index + 1;
    } else if (argumentIs(request, index, TYPE)) {
      options.typeFits = textArgument(request, index + 1).toLowerCase() === TYPE_NAME;
    } else {
      reply.error(errors.syntax);
      return undefined;
    }
  }
  return options;
}

export const scan = defineCommand({
  name: 'scan',
  arity: -2,
  flags: ['readonly'],
  leavesOutKeys: true,
  group: 'generic',
  summary: 'Iterates over the keys, some at a time.',
  since: '2.8.0',
  complexity: 'O(1) for every call. O(N) for a complete iteration, where N is the number of keys.',
  syntax: 'cursor [MATCH pattern] [COUNT count] [TYPE type]',
  run: (call) => {
    const { request, reply } = call;
    const cursor = parseScanCursor(bytesArgument(request, 1));
    if (cursor === undefined) return reply.error(errors.invalidCursor);
    const options = readOptions(call);
    if (options === undefined) return;

    const { patternAt, typeFits } = options;
    const pattern = patternAt === 0 ? undefined : keyFilter(bytesArgument(request, patternAt));
    const { database } = call.client;
    const selection = { database, pattern, isVisible: typeFits ? visibleKeys(call.client) : () => false };
    // EXEC keeps all other clients waiting.
    const count = call.executing ? Math.min(options.count, DEFAULT_COUNT) : options.count;
    const found = new FoundKeys();
    const walk = new KeyWalk(cursor, selection, { count, maximumBytes: MAX_FOUND_BYTES }, found.take);
    walkInSlices(call, walk, (resumed) => {
      resumed.reply.array(2);
      resumed.reply.bulkText(walk.cursor.toString());
      found.writeTo(resumed.reply);
    });
  },
});
