import { changeParameters, ParameterError, parameterNames, printParameter } from '@quotadb/config';
import { errors } from '../../errors/errors.js';
import { askLanes } from '../../questions/ask-lanes.js';
import { replyMap } from '../../reply/values.js';
import { bytesArgument, textArgument, textArguments } from '../../request/arguments.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { Glob } from '../keys/glob.js';

const encoder = new TextEncoder();
/** Each is compared with every parameter, of which there are fewer. */
const MAXIMUM_PATTERNS = 1000;

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'server', since: '2.0.0' });

const configGet = define({
  name: 'get',
  arity: -3,
  summary: 'The parameters whose names match, and their values.',
  complexity: 'O(N) where N is the number of parameters',
  syntax: 'parameter [parameter ...]',
  run({ request, server, reply }) {
    const patterns = textArguments(request, 2).map((pattern) => encoder.encode(pattern.toLowerCase()));
    if (patterns.length > MAXIMUM_PATTERNS) return reply.error(errors.tooManyNames(MAXIMUM_PATTERNS));
    const long = patterns.find(({ length }) => length > Glob.MAXIMUM_BYTES);
    if (long !== undefined) return reply.error(errors.patternTooLong(long.length));
    const globs = patterns.map((pattern) => new Glob(pattern));
    const names = parameterNames().filter((name) => {
      const bytes = encoder.encode(name);
      return globs.some((glob) => glob.matches(bytes));
    });
    const fields = names.map((name) => [name, printParameter(server.config, name)] as const);
    replyMap(reply, fields);
  },
});

const configSet = define({
  name: 'set',
  arity: -4,
  summary: 'Changes parameters while the server runs; all of them or none.',
  complexity: 'O(N) where N is the number of parameters',
  syntax: 'parameter value [parameter value ...]',
  // Also where the name is mistyped: the word behind `requirepas` is a password too.
  secretsFrom: 3,
  run(call) {
    const { request, server, reply } = call;
    if (request.argumentCount % 2 !== 0) return reply.error(errors.syntax);
    const changes: [string, string][] = [];
    for (let index = 2; index < request.argumentCount; index += 2) {
      changes.push([
        textArgument(request, index).toLowerCase(),
        Buffer.from(bytesArgument(request, index + 1)).toString('utf8'),
      ]);
    }
    try {
      changeParameters({ ...server.config }, changes);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      const { parameter, message } = error;
      return reply.error(error.unknown ? errors.configUnknown(parameter) : errors.configRefused(parameter, message));
    }
    askLanes(call, 'configure', changes, (resumed) => resumed.reply.ok());
  },
});

const configResetStat = define({
  name: 'resetstat',
  arity: 2,
  summary: 'Sets the figures of INFO back to zero.',
  run(call) {
    askLanes(call, 'resetStatistics', null, ({ reply }) => reply.ok());
  },
});

const configRewrite = define({
  name: 'rewrite',
  arity: 2,
  summary: 'Refused: the server does not write to its config file.',
  since: '2.8.0',
  run({ reply }) {
    reply.error(errors.noConfigRewrite);
  },
});

export const config = container({
  name: 'config',
  group: 'server',
  summary: 'The configuration of the running server.',
  since: '2.0.0',
  subcommands: [configGet, configSet, configResetStat, configRewrite],
});
