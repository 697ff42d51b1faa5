import type { PartialDefinition } from '@quotadb/quota';
import { DEFINE_SYNTAX, PolicyError, parseDefinition } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { copyArgument, textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';

const define = defineFamily({ flags: ['write', 'admin', 'noscript', 'no_multi'], group: 'quota', since: '0.2.0' });

export const quotaDefine = define({
  name: 'quota.define',
  arity: -6,
  summary: 'Defines a quota, or changes the limit of one; done in the home region, wherever it is asked for.',
  complexity: 'O(N) in the number of policies',
  syntax: DEFINE_SYNTAX,
  run(call) {
    const words = Array.from({ length: call.request.argumentCount - 1 }, (_, index) =>
      textArgument(call.request, index + 1),
    );
    const definition = parse(call, words);
    if (definition !== undefined) askQuotas(call, { kind: 'define', definition }, ({ reply }) => reply.ok());
  },
});

export const quotaDrop = define({
  name: 'quota.drop',
  arity: 2,
  summary: 'Drops a quota: 1, or 0 where there was none. One that is defined anew begins with its limit.',
  complexity: 'O(N) in the number of policies',
  syntax: 'name',
  run(call) {
    const name = textArgument(call.request, 1);
    askQuotas(call, { kind: 'drop', name }, ({ reply }, wasThere: boolean) => reply.integer(wasThere ? 1 : 0));
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
    reply.array(list.length);
    for (const { name } of list) reply.bulkText(name);
  },
});

export const quotaInfo = define({
  name: 'quota.info',
  arity: -2,
  flags: ['readonly', 'noscript', 'no_multi'],
  role: 'quota',
  summary: 'What is known of a quota, and of one of its subjects in the window that it is now.',
  syntax: 'name [subject]',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount > 3) return reply.error(errors.syntax);
    const subject = request.argumentCount === 3 ? copyArgument(request, 2) : undefined;
    const fields = { kind: 'info', name: textArgument(request, 1), subject } as const;
    askQuotas(call, fields, (resumed, described: readonly (readonly [string, string | number])[]) => {
      resumed.reply.map(described.length);
      for (const [name, value] of described) {
        resumed.reply.bulkText(name);
        if (typeof value === 'number') resumed.reply.integer(value);
        else resumed.reply.bulkText(value);
      }
    });
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
