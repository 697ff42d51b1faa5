import { ByteInput } from '@quotadb/engine';
import { errors } from '../../errors/errors.js';
import { replyLines } from '../../reply/values.js';
import { argumentIs, bytesArgument, keyword, textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { keyIn } from '../../session/databases.js';
import { defineCommand } from '../../session/define.js';

const SLEEP = keyword('sleep');
const OBJECT = keyword('object');
const HELP = keyword('help');

/** The subcommands that the test suites of clients use. Unlike in Redis, SLEEP delays its own connection only. */
export const debug = defineCommand({
  name: 'debug',
  arity: -2,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  summary: 'SLEEP delays this connection; OBJECT shows how a key is stored. Other subcommands are refused.',
  since: '1.0.0',
  syntax: '<SLEEP seconds | OBJECT key | HELP>',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount === 3 && argumentIs(request, 1, SLEEP)) {
      // Redis reads it with strtod, which returns 0 for a text that is not a number.
      const seconds = Number.parseFloat(textArgument(request, 2));
      call.suspend(seconds > 0 ? seconds * 1000 : 0, (resumed) => resumed.reply.ok());
    } else if (request.argumentCount === 3 && argumentIs(request, 1, OBJECT)) {
      describe(call);
    } else if (request.argumentCount === 2 && argumentIs(request, 1, HELP)) {
      help(call);
    } else {
      reply.error(errors.debugUnknown(textArgument(request, 1)));
    }
  },
});

function describe({ request, engine, reply, client }: Call): void {
  const key = keyIn(client.database, bytesArgument(request, 2));
  const exists = engine.open(ByteInput.copyOf(key), 0, key.length);
  if (exists) {
    const bytes = engine.memoryUsageBytes();
    reply.simple(`Value at:0x0 refcount:1 encoding:int serializedlength:${bytes} lru:0 lru_seconds_idle:0`);
  } else {
    reply.error(errors.noSuchKey);
  }
  engine.close();
}

function help({ reply }: Call): void {
  const lines = [
    'DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:',
    'OBJECT <key>',
    '    Show how a key is stored.',
    'SLEEP <seconds>',
    '    Delay this connection by <seconds>; decimals are allowed.',
    'HELP',
    '    Lists the subcommands.',
  ];
  replyLines(reply, lines);
}
