import type { Standing } from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { replyMap, replyTexts } from '../../reply/values.js';
import {
  argumentIs,
  copyArgument,
  keyword,
  numberArgument,
  quotedArgument,
  textArgument,
} from '../../request/arguments.js';
import type { QuotaEvent } from '../../services/lane-quotas.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { readOptions } from './take-options.js';

const CURSOR = keyword('cursor');
const COUNT = keyword('count');
const PAGE_OPTIONS = 'CURSOR cursor and COUNT count may follow';
const USUAL_SUBJECTS = 100;
const MAXIMUM_SUBJECTS = 1000;
const USUAL_EVENTS = 10;
const MAXIMUM_EVENTS = 1000;

const define = defineFamily({ flags: ['write', 'admin', 'noscript', 'no_multi'], group: 'quota', since: '0.2.0' });

interface Page {
  readonly cursor: string;
  readonly subjects: readonly (Standing & { readonly subject: Uint8Array })[];
}

export const quotaSubjects = define({
  name: 'quota.subjects',
  arity: -2,
  flags: ['readonly', 'noscript', 'no_multi'],
  role: 'quota',
  summary:
    'A page of the subjects with tokens of a quota in the current window, as far as this region knows. Returns the ' +
    'cursor of the next page (0 after the last), and for each subject its name, its limit and the tokens remaining ' +
    'in all regions. As with SCAN a page may be empty.',
  complexity: 'O(N) in the keys that are looked at',
  syntax: 'name [CURSOR cursor] [COUNT count]',
  run(call) {
    const { request, reply } = call;
    let cursor = '0';
    let count = USUAL_SUBJECTS;
    for (let index = 2; index < request.argumentCount; index += 2) {
      const word = quotedArgument(request, index);
      const isCount = argumentIs(request, index, COUNT);
      if (!isCount && !argumentIs(request, index, CURSOR))
        return reply.error(errors.syntaxAt(index, word, PAGE_OPTIONS));
      if (index + 1 === request.argumentCount) return reply.error(errors.valueMissing(word, PAGE_OPTIONS));
      if (isCount) count = numberArgument(request, index + 1);
      else cursor = textArgument(request, index + 1);
      if (Number.isNaN(count))
        return reply.error(errors.notBetween('COUNT', quotedArgument(request, index + 1), 1, MAXIMUM_SUBJECTS));
    }
    askQuotas(call, { kind: 'subjects', name: textArgument(request, 1), cursor, count }, (resumed, page: Page) =>
      writePage(resumed.reply, page),
    );
  },
});

export const quotaRefund = define({
  name: 'quota.refund',
  keys: [2, 2, 1],
  arity: -4,
  summary:
    'Gives tokens back that a subject has spent in this region and window: as many as that are, at most the amount. ' +
    'Returns the tokens given back, those remaining here, and those remaining in all regions as far as this one knows.',
  syntax: 'name subject amount [ID token]',
  run(call) {
    const asked = readAdjustment(call, 4);
    if (asked === undefined) return;
    const amount = readAmount(call);
    if (amount === undefined) return;
    askQuotas(call, { kind: 'refund', ...asked, amount }, ({ reply }, answer: Refunded) => {
      reply.array(3);
      reply.integer(answer.refunded);
      reply.integer(answer.standing.remainingHere);
      reply.integer(answer.standing.remainingEverywhere);
    });
  },
});

export const quotaReset = define({
  name: 'quota.reset',
  keys: [2, 2, 1],
  arity: -3,
  summary:
    'Gives all tokens back that a subject has spent in this window, in every region that can be reached. Returns the ' +
    'tokens given back, the regions that did, and those that did not answer.',
  syntax: 'name subject [ID token]',
  run(call) {
    const asked = readAdjustment(call, 3);
    if (asked === undefined) return;
    askQuotas(call, { kind: 'reset', ...asked }, ({ reply }, answer: Reset) => {
      reply.array(3);
      reply.integer(answer.refunded);
      replyTexts(reply, answer.regions);
      replyTexts(reply, answer.missing);
    });
  },
});

export const quotaExtra = define({
  name: 'quota.extra',
  keys: [2, 2, 1],
  arity: -4,
  summary:
    'Gives a subject tokens beside its limit, in the current window and in all regions. Every region forwards the ' +
    'request to the home region. Returns the limit of the subject in this window.',
  syntax: 'name subject amount [ID token]',
  run(call) {
    const asked = readAdjustment(call, 4);
    if (asked === undefined) return;
    const amount = readAmount(call);
    if (amount === undefined) return;
    askQuotas(call, { kind: 'extra', ...asked, amount }, ({ reply }, limit: number) => reply.integer(limit));
  },
});

export const quotaEvents = define({
  name: 'quota.events',
  arity: -1,
  flags: ['readonly', 'admin', 'noscript', 'no_multi'],
  summary:
    'The last refunds, resets and extras of this region, the newest first: who, what, to whom, and when in ' +
    'milliseconds since the epoch. The log has all of them.',
  complexity: 'O(N) in the number of events',
  syntax: '[COUNT count]',
  run(call) {
    const { request, reply } = call;
    const isCounted = request.argumentCount === 3 && argumentIs(request, 1, COUNT);
    if (request.argumentCount !== 1 && !isCounted)
      return reply.error(errors.syntaxAt(1, quotedArgument(request, 1), 'nothing, or COUNT and a number'));
    const count = isCounted ? numberArgument(request, 2) : USUAL_EVENTS;
    if (!(count >= 1 && count <= MAXIMUM_EVENTS))
      return reply.error(errors.notBetween('COUNT', quotedArgument(request, 2), 1, MAXIMUM_EVENTS));
    askQuotas(call, { kind: 'events', count }, (resumed, events: readonly QuotaEvent[]) => {
      resumed.reply.array(events.length);
      for (const { atMs, ...fields } of events) replyMap(resumed.reply, [['at-ms', atMs], ...Object.entries(fields)]);
    });
  },
});

interface Refunded {
  readonly refunded: number;
  readonly standing: Standing;
}

interface Reset {
  readonly refunded: number;
  readonly regions: readonly string[];
  readonly missing: readonly string[];
}

/** The quota, the subject, the ID and the user; undefined where an error was replied. */
function readAdjustment({ request, reply, client }: Call, firstOption: number) {
  const options = readOptions(request, firstOption, 'adjustment');
  if (typeof options === 'string') {
    reply.error(options);
    return undefined;
  }
  const by = client.user?.name ?? 'default';
  return { name: textArgument(request, 1), subject: copyArgument(request, 2), by, id: options.id };
}

/** Undefined after an error reply. The quota decides whether it is too large. */
function readAmount({ request, reply }: Call): number | undefined {
  const amount = numberArgument(request, 3);
  if (amount >= 1) return amount;
  reply.error(errors.quota(`an amount is a whole number of at least 1, not ${quotedArgument(request, 3)}`));
  return undefined;
}

function writePage(reply: ReplyWriter, { cursor, subjects }: Page): void {
  reply.array(2);
  reply.bulkText(cursor);
  reply.array(subjects.length);
  for (const { subject, limit, remainingEverywhere } of subjects) {
    reply.array(3);
    reply.bulk(subject, 0, subject.length);
    reply.integer(limit);
    reply.integer(remainingEverywhere);
  }
}
