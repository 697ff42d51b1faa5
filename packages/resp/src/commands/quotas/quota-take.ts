import {
  costTooSmall,
  isLeased,
  MAXIMUM_SUBJECT_BYTES,
  onlyLeases,
  type Policy,
  type Standing,
  SUBJECT_TOO_LONG,
  Verdict,
} from '@quotadb/quota';
import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { writeDecision } from '../../reply/decision.js';
import { copyArgument, numberArgument, quotedArgument, textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';
import { askQuotas } from './ask-quotas.js';
import { NO_OPTIONS, readOptions, type TakeOptions } from './take-options.js';

export const quotaTake = defineCommand({
  name: 'quota.take',
  arity: -4,
  flags: ['write', 'denyoom', 'fast'],
  role: 'quota',
  keys: [2, 2, 1],
  group: 'quota',
  summary:
    'Takes tokens from a quota if it has enough. Returns allowed (1 or 0), tokens remaining here, tokens remaining ' +
    'in all regions as far as this one knows, the milliseconds until the window ends, and those after which a retry ' +
    'makes sense.',
  since: '0.2.0',
  syntax: 'name subject cost [WAIT duration] [ID token]',
  run(call) {
    const { request, server } = call;
    const cost = numberArgument(request, 3);
    const options = request.argumentCount > 4 ? readOptions(request, 4) : NO_OPTIONS;
    if (typeof options === 'string') return call.reply.error(options);
    if (!(cost >= 1 && cost <= Number.MAX_SAFE_INTEGER))
      return call.reply.error(errors.quota(costTooSmall(quotedArgument(request, 3))));
    const { bytes } = request.input;
    const policy = server.quotas.policies.find(bytes, request.argumentStart[1], request.argumentLength[1]);
    // A policy unknown to this lane may be a new one. Ids are kept on the main thread, for all lanes.
    if (policy === undefined || options.id !== undefined) return takeElsewhere(call, cost, options);
    const mistake = findMistake(policy, request.argumentLength[2]);
    if (mistake !== undefined) return call.reply.error(errors.quota(mistake));
    takeHere(call, policy, cost, options);
  },
});

/** Takes from the local balance; asks the main thread only where that is too low. */
function takeHere(call: Call, policy: Policy, cost: number, options: TakeOptions): void {
  const { request, reply, server, engine } = call;
  const taker = server.quotas.taker(engine);
  const start = request.argumentStart[2];
  const length = request.argumentLength[2];
  const verdict = taker.take(policy, request.input, start, length, cost);
  if (verdict === Verdict.unknown) {
    if (!call.executing) {
      takeElsewhere(call, cost, options);
      return;
    }
    // A command inside EXEC cannot wait for the refill; the next take finds it.
    server.askMain('refill', { allotment: allotmentOf(policy, taker.window, copyArgument(request, 2)), target: cost });
  }
  server.statistics.takes.note(policy.number, cost, verdict === Verdict.allowed, request.input.bytes, start, length);
  if (taker.refillTarget > 0) {
    const allotment = allotmentOf(policy, taker.window, copyArgument(request, 2));
    server.askMain('refill', { allotment, target: taker.refillTarget });
  }
  if (verdict === Verdict.allowed) server.replication.held?.mark();
  writeStanding(reply, verdict === Verdict.allowed, taker);
}

function allotmentOf(policy: Policy, window: number, subject: Uint8Array) {
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
  const { remainingHere, remainingEverywhere, resetMs, retryAfterMs } = standing;
  writeDecision(reply, isAllowed, remainingHere, remainingEverywhere, resetMs, retryAfterMs);
}

function findMistake(policy: Policy, subjectBytes: number): string | undefined {
  if (isLeased(policy)) return onlyLeases(policy);
  return subjectBytes > MAXIMUM_SUBJECT_BYTES ? SUBJECT_TOO_LONG : undefined;
}
