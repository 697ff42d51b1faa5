import { Status } from '@quotadb/engine';
import { type Attempted, type Decision, type Item, summarise, type Target, wantsLease } from '@quotadb/limits';
import { Verdict } from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors, statusError } from '../../errors/errors.js';
import type { LeaseOfCheck, LimitAnswer, LimitCheck } from '../../services/lane-limits.js';
import { awaitAnswer, replyRefused } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { readCheck, readLease } from './check-arguments.js';

const define = defineFamily({
  keys: [2, 2, 1],
  group: 'limit',
  arity: -3,
  role: 'quota',
  since: 'quotadb 0.2.0',
  complexity: 'O(N) in the number of limits that are checked',
});

export const limitCheck = define({
  name: 'limit.check',
  flags: ['write', 'denyoom', 'fast'],
  summary:
    'Checks a request of a subject against a limit of the catalogue and its parents, or against every limit of a ' +
    'domain: all of them are charged, or none is. Returns allowed (1 or 0), then of the limit that denied, or of the ' +
    'one with the least left, the limit, what remains and the milliseconds until it resets (-1: unlimited, never), ' +
    'the milliseconds after which a retry makes sense (-1: never), and the name of the limit that denied, or nil. ' +
    'Limits on concurrency take a lease under the id of LEASE; a repetition while it is held costs nothing.',
  syntax: 'name subject [cost] [WAIT duration] [LEASE id]',
  run: (call) => check(call, false),
});

export const limitRelease = define({
  name: 'limit.release',
  arity: 4,
  flags: ['write', 'noscript'],
  summary:
    'Ends the leases that LIMIT.CHECK has taken for a subject under an id, in this region. Returns 1, or 0 where ' +
    'none is held here: they were released, or their time is over.',
  syntax: 'name subject id',
  run(call) {
    const asked = readLease(call.request);
    if (typeof asked === 'string') call.reply.error(asked);
    else release(call, asked);
  },
});

export const limitPeek = define({
  name: 'limit.peek',
  flags: ['readonly', 'fast'],
  summary: 'Returns the reply of LIMIT.CHECK and charges nothing.',
  syntax: 'name subject [cost]',
  run: (call) => check(call, true),
});

function check(call: Call, isPeek: boolean): void {
  const asked = readCheck(call.request, isPeek);
  if (typeof asked === 'string') {
    call.reply.error(asked);
    return;
  }
  const target = call.server.limits.resolution.find(asked.name);
  // A limit unknown to this lane may be a new one.
  if (target === undefined && call.executing) call.reply.error(errors.limitUnknown(asked.name));
  else if (target === undefined) checkElsewhere(call, asked);
  else checkHere(call, asked, target);
}

/** Decides with the counters and local balances of this node; asks the main thread only where tokens are too few. */
function checkHere(call: Call, asked: LimitCheck, target: Target): void {
  const { engine, server } = call;
  const attempts = server.limits.attempts(engine);
  const items = server.limits.resolution.itemsOf(target, asked.subject, asked.cost, engine.nowMs, asked.lease);
  if (!asked.isPeek && items.some(wantsLease)) {
    // The main thread keeps leases.
    if (asked.lease === undefined) call.reply.error(errors.limitIsLeased(asked.name));
    else checkElsewhere(call, asked);
    return;
  }
  const attempted = attempts.findUnknown(items) === undefined ? attempts.attempt(items, asked.isPeek) : undefined;
  const isUndecided = attempted === undefined || attempted.verdict === Verdict.unknown;
  if (attempted === undefined || (isUndecided && !call.executing)) {
    checkElsewhere(call, asked);
    return;
  }
  // A command inside EXEC or a script cannot wait for tokens; the next check finds them.
  for (const { allotment, cost } of attempted.missing) server.askMain('refill', { allotment, target: cost });
  finish(call, asked, items, attempted);
}

function finish({ server, reply }: Call, { isPeek }: LimitCheck, items: readonly Item[], attempted: Attempted): void {
  const { status, low, lateShadows, decisions } = attempted;
  if (status !== Status.Ok) {
    reply.error(statusError(status));
    return;
  }
  for (const { allotment, cost } of low) server.askMain('refill', { allotment, target: cost });
  if (lateShadows.length > 0) server.askMain('limits', { kind: 'chargeLate', items: lateShadows });
  const decision = summarise(decisions);
  if (!isPeek) server.statistics.limits.note(items, decision);
  if (!isPeek && decision.allowed) server.replication.held?.mark();
  writeDecision(reply, decision);
}

function release(call: Call, asked: LeaseOfCheck): void {
  awaitAnswer<LimitAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => call.server.askMain('limits', { kind: 'release', ...asked }, answered),
    (resumed, answer) => {
      const { reply, executing } = resumed;
      if (answer === undefined) reply.error(executing ? errors.quotaInTransaction : errors.quotaStopping);
      else if ('changed' in answer.value) reply.integer(answer.value.changed ? 1 : 0);
      else replyRefused(resumed, 'error' in answer.value ? answer.value : { error: 'nothing was released' });
    },
  );
}

function checkElsewhere(call: Call, asked: LimitCheck): void {
  awaitAnswer<LimitAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => call.server.askMain('limits', { kind: 'check', ...asked }, answered),
    (resumed, answer) => {
      const { reply, executing } = resumed;
      if (answer === undefined) reply.error(executing ? errors.quotaInTransaction : errors.quotaStopping);
      else if ('decision' in answer.value) writeDecision(reply, answer.value.decision);
      else if ('status' in answer.value) reply.error(statusError(answer.value.status));
      else replyRefused(resumed, 'error' in answer.value ? answer.value : { error: 'the check was not decided' });
    },
  );
}

/** `[allowed, limit, remaining, reset-ms, retry-after-ms, denied-by]` */
function writeDecision(reply: ReplyWriter, decision: Decision): void {
  const { allowed, limit, remaining, resetMs, retryAfterMs, deniedBy } = decision;
  reply.array(6);
  reply.integer(allowed ? 1 : 0);
  reply.integer(limit === Number.POSITIVE_INFINITY ? -1 : limit);
  reply.integer(remaining === Number.POSITIVE_INFINITY ? -1 : remaining);
  reply.integer(resetMs);
  reply.integer(retryAfterMs);
  if (deniedBy === undefined) reply.nil();
  else reply.bulkText(deniedBy);
}
