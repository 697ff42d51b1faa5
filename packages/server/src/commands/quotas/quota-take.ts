import {
  COST_TOO_SMALL,
  costBeyondLimit,
  MAXIMUM_SUBJECT_BYTES,
  type Policy,
  type Standing,
  SUBJECT_TOO_LONG,
  Verdict,
} from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors.js';
import { copyArgument, numberArgument, textArgument } from '../arguments.js';
import type { Call, Command } from '../command.js';
import { askQuotas } from './ask-quotas.js';
import { NO_OPTIONS, readOptions, type TakeOptions } from './take-options.js';

export const quotaTake: Command = {
  name: 'quota.take',
  arity: -4,
  flags: ['write', 'denyoom', 'noscript', 'fast'],
  role: 'quota',
  keys: [2, 2, 1],
  group: 'quota',
  summary:
    'Takes so much of a quota, if there is enough: allowed, remaining here, remaining everywhere as far as is known, milliseconds until the window is over, milliseconds until it is worth trying again.',
  since: '0.2.0',
  complexity: 'O(1)',
  syntax: 'name subject cost [WAIT milliseconds] [ID token]',
  run(call) {
    const { request, server } = call;
    const cost = numberArgument(request, 3);
    const options = request.argumentCount > 4 ? readOptions(request, 4) : NO_OPTIONS;
    if (typeof options === 'string') {
      call.reply.error(options);
      return;
    }
    const { bytes } = request.input;
    const policy = server.quotas.policies.find(bytes, request.argumentStart[1], request.argumentLength[1]);
    // A policy that this lane has not heard of may have been defined just now; ids are remembered in one place for all lanes.
    if (policy === undefined || options.id !== undefined) {
      takeElsewhere(call, cost, options);
      return;
    }
    const mistake = findMistake(policy, cost, request.argumentLength[2]);
    if (mistake !== undefined) {
      call.reply.error(errors.quota(mistake));
      return;
    }
    takeHere(call, policy, cost, options);
  },
};

/** From the pocket, and only if that has too little with the help of others. */
function takeHere(call: Call, policy: Policy, cost: number, options: TakeOptions): void {
  const { request, reply, server, engine } = call;
  const { bytes } = request.input;
  const taker = server.quotas.taker(engine);
  const start = request.argumentStart[2];
  const length = request.argumentLength[2];
  const verdict = taker.take(policy, bytes, start, length, cost);
  if (verdict === Verdict.unknown) {
    if (!call.executing) {
      takeElsewhere(call, cost, options);
      return;
    }
    // Inside MULTI nothing waits; the next one finds it.
    server.quotas.foresee(cellOf(policy, taker.window, copyArgument(request, 2)), cost);
  }
  server.statistics.takes.note(policy.number, cost, verdict === Verdict.allowed, bytes, start, length);
  if (taker.refillTarget > 0)
    server.quotas.foresee(cellOf(policy, taker.window, copyArgument(request, 2)), taker.refillTarget);
  writeStanding(reply, verdict === Verdict.allowed, taker);
}

function cellOf(policy: Policy, window: number, subject: Uint8Array) {
  return { policy: policy.number, window, subject };
}

function takeElsewhere(call: Call, cost: number, options: TakeOptions): void {
  const { request } = call;
  const items = [{ name: textArgument(request, 1), subject: copyArgument(request, 2), cost }];
  askQuotas(
    call,
    { kind: 'take', items, ...options },
    (resumed, answer: { isAllowed: boolean; standings: Standing[] }) =>
      writeStanding(resumed.reply, answer.isAllowed, answer.standings[0]),
  );
}

export function writeStanding(reply: ReplyWriter, isAllowed: boolean, standing: Standing): void {
  reply.array(5);
  reply.integer(isAllowed ? 1 : 0);
  reply.integer(standing.remainingHere);
  reply.integer(standing.remainingEverywhere);
  reply.integer(standing.resetMs);
  reply.integer(standing.retryAfterMs);
}

function findMistake(policy: Policy, cost: number, subjectBytes: number): string | undefined {
  if (!Number.isSafeInteger(cost) || cost < 1) return COST_TOO_SMALL;
  if (cost > policy.limit) return costBeyondLimit(cost, policy);
  return subjectBytes > MAXIMUM_SUBJECT_BYTES ? SUBJECT_TOO_LONG : undefined;
}
