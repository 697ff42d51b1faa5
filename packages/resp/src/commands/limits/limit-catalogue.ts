import { unstamp, unstampLimit } from '@quotadb/limits';
import { MAXIMUM_CATALOGUE_BYTES } from '@quotadb/quota';
import { errors } from '../../errors/errors.js';
import { replyTexts } from '../../reply/values.js';
import { quotedArgument, textArgument } from '../../request/arguments.js';
import type { LimitAnswer, LimitRequest } from '../../services/lane-limits.js';
import { awaitAnswer, replyRefused } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

const define = defineFamily({
  flags: ['write', 'admin', 'noscript', 'no_multi'],
  group: 'limit',
  since: 'quotadb 0.2.0',
  complexity: 'O(N) in the size of the catalogue',
});

export const limitSet = define({
  name: 'limit.set',
  arity: 2,
  summary:
    'Adds a limit, in JSON or YAML, to the catalogue, or replaces the one of its name. Every region forwards the ' +
    'request to the home region; a limit with mistakes is refused with all of them.',
  syntax: 'document',
  run: (call) => changeBy(call, 'set'),
});

export const limitLoad = define({
  name: 'limit.load',
  arity: 2,
  summary:
    'Replaces the whole catalogue of limits, in YAML or JSON, at once. A catalogue with mistakes is refused with all ' +
    'of them and their lines, and the one before stays.',
  syntax: 'document',
  run: (call) => changeBy(call, 'load'),
});

export const limitDrop = define({
  name: 'limit.drop',
  arity: 2,
  summary: 'Drops a limit of the catalogue. Returns 1, or 0 where there was none.',
  syntax: 'name',
  run: (call) =>
    change(call, { kind: 'drop', name: textArgument(call.request, 1) }, ({ reply }, wasThere) =>
      reply.integer(wasThere ? 1 : 0),
    ),
});

export const limitList = define({
  name: 'limit.list',
  arity: 1,
  flags: ['readonly', 'noscript'],
  role: 'quota',
  summary: 'The names of all limits of the catalogue.',
  run({ reply, server }) {
    const { limits } = server.limits.resolution.catalogue;
    const names = limits.map(({ name }) => name);
    replyTexts(reply, names);
  },
});

export const limitGet = define({
  name: 'limit.get',
  arity: -1,
  flags: ['readonly', 'noscript'],
  role: 'quota',
  summary: 'A limit of the catalogue as JSON, or nil where there is none; without a name, the whole catalogue.',
  syntax: '[name]',
  run({ request, reply, server }) {
    const { catalogue } = server.limits.resolution;
    if (request.argumentCount > 2)
      return reply.error(errors.syntaxAt(2, quotedArgument(request, 2), 'one name, or none'));
    if (request.argumentCount === 1) return reply.bulkText(JSON.stringify(unstamp(catalogue)));
    const name = textArgument(request, 1);
    const entry = catalogue.limits.find((limit) => limit.name === name);
    if (entry === undefined) reply.nil();
    else reply.bulkText(JSON.stringify(unstampLimit(entry)));
  },
});

/** A document that is too large is not even passed on. */
function changeBy(call: Call, kind: 'set' | 'load'): void {
  const { request, reply } = call;
  if (request.argumentLength[1] > MAXIMUM_CATALOGUE_BYTES)
    reply.error(errors.limit(`a catalogue of limits has at most ${MAXIMUM_CATALOGUE_BYTES} bytes`));
  else change(call, { kind, text: textArgument(request, 1) }, (resumed) => resumed.reply.ok());
}

/** Asks the main thread, which bounds the wait. */
function change(call: Call, request: LimitRequest, finish: (call: Call, changed: boolean) => void): void {
  awaitAnswer<LimitAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => call.server.askMain('limits', request, answered),
    (resumed, answer) => {
      if (answer === undefined) resumed.reply.error(errors.quotaStopping);
      else if ('changed' in answer.value) finish(resumed, answer.value.changed);
      else replyRefused(resumed, 'error' in answer.value ? answer.value : { error: 'nothing was changed' });
    },
  );
}
