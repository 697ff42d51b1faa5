import type { PartialDefinition } from '@quotadb/quota';
import { DEFINE_SYNTAX, PolicyError, parseDefinition } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { replyMap, replyTexts } from '../../reply/values.js';
import {
  argumentIs,
  copyArgument,
  keyword,
  quotedArgument,
  textArgument,
  textArguments,
} from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';

const KEEP = keyword('keep');
const TAKE = keyword('take');
type Fields = readonly (readonly [string, string | number])[];

const define = defineFamily({ flags: ['write', 'admin', 'noscript', 'no_multi'], group: 'quota', since: '0.2.0' });

export const quotaDefine = define({
  name: 'quota.define',
  arity: -6,
  summary: 'Defines a quota, or changes the limit of one. Every region forwards the request to the home region.',
  complexity: 'O(N) in the number of policies',
  syntax: DEFINE_SYNTAX,
  run(call) {
    const definition = parse(call, textArguments(call.request, 1));
    if (definition !== undefined) askQuotas(call, { kind: 'define', definition }, ({ reply }) => reply.ok());
  },
});

export const quotaDrop = define({
  name: 'quota.drop',
  arity: 2,
  summary:
    'Drops a quota. Returns 1, or 0 where there was none. One that is defined again as it was goes on where it was; ' +
    'another of its name begins with its next window.',
  complexity: 'O(N) in the number of policies',
  syntax: 'name',
  run(call) {
    const name = textArgument(call.request, 1);
    askQuotas(call, { kind: 'drop', name }, ({ reply }, wasThere: boolean) => reply.integer(wasThere ? 1 : 0));
  },
});

export const quotaHome = define({
  name: 'quota.home',
  arity: -1,
  summary:
    'The home of quota policies as this region knows it, and the policies of peers that it has refused. At the home, ' +
    'KEEP makes its own policies the newest in all regions, and TAKE those that the region has sent ' +
    'and it has refused.',
  complexity: 'O(N) in the number of policies',
  syntax: '[KEEP | TAKE region]',
  run(call) {
    const { request, reply } = call;
    const { argumentCount } = request;
    if (argumentCount === 1)
      return askQuotas(call, { kind: 'describeHome' }, (resumed, fields: Fields) => replyMap(resumed.reply, fields));
    const isKeep = argumentCount === 2 && argumentIs(request, 1, KEEP);
    if (!isKeep && !(argumentCount === 3 && argumentIs(request, 1, TAKE)))
      return reply.error(errors.syntaxAt(1, quotedArgument(request, 1), 'nothing, KEEP, or TAKE and a region'));
    const takeFrom = isKeep ? undefined : textArgument(request, 2);
    askQuotas(call, { kind: 'home', takeFrom }, (resumed) => resumed.reply.ok());
  },
});

export const quotaRemint = define({
  name: 'quota.remint',
  arity: -4,
  summary:
    'Gives out again, at the home, the tokens of a quota without a window that the named regions held, and lost with ' +
    'their data for good. Refused while another region that may hold some is not connected.',
  complexity: 'O(N) in the number of subjects with tokens',
  syntax: 'name LOST region [LOST region ...]',
  run(call) {
    const [name, ...words] = textArguments(call.request, 1);
    const lost = words.filter((_, index) => index % 2 === 1);
    const isLost = words.length % 2 === 0 && words.every((word, index) => index % 2 === 1 || /^lost$/i.test(word));
    if (!isLost) {
      const at = words.length % 2 === 0 ? 2 : words.length + 1;
      return call.reply.error(
        errors.syntaxAt(at, quotedArgument(call.request, at), 'LOST and a region, for each region'),
      );
    }
    askQuotas(call, { kind: 'remint', name, lost }, ({ reply }) => reply.ok());
  },
});

export const quotaList = define({
  name: 'quota.list',
  arity: 1,
  flags: ['readonly', 'noscript'],
  role: 'quota',
  summary: 'The names of all quotas.',
  complexity: 'O(N) in the number of policies',
  run({ reply, server }) {
    const { list } = server.quotas.policies;
    const names = list.map(({ name }) => name);
    replyTexts(reply, names);
  },
});

export const quotaInfo = define({
  name: 'quota.info',
  arity: -2,
  flags: ['readonly', 'noscript', 'no_multi'],
  role: 'quota',
  // None without a subject.
  keys: [2, -1, 1],
  summary: 'The definition and state of a quota, and of one of its subjects in the current window.',
  syntax: 'name [subject]',
  run(call) {
    const { client, request, reply } = call;
    if (request.argumentCount === 2 && client.user?.hasPrefixes) return reply.error(errors.keyNotPermitted);
    if (request.argumentCount > 3)
      return reply.error(errors.syntaxAt(3, quotedArgument(request, 3), 'a subject is one word, the last'));
    const subject = request.argumentCount === 3 ? copyArgument(request, 2) : undefined;
    const fields = { kind: 'info', name: textArgument(request, 1), subject } as const;
    askQuotas(call, fields, (resumed, described: Fields) => replyMap(resumed.reply, described));
  },
});

function parse(call: Call, words: readonly string[]): PartialDefinition | undefined {
  try {
    return parseDefinition(words);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    call.reply.error(errors.quota(error.message));
    return undefined;
  }
}
