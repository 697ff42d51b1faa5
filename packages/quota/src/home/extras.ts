import { MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import { limitOf } from '../policies/override-table.js';
import {
  type Extra,
  isLeased,
  MAXIMUM_LIMIT,
  type Policy,
  REPEAT_WINDOW_MS,
  windowAt,
  windowEndMs,
} from '../policies/policy.js';
import { isWhole, MAXIMUM_EXTRAS, PolicyError } from '../policies/policy-set.js';
import { SUBJECT_TOO_LONG } from '../policies/request-mistakes.js';

/** A request for extra tokens (QUOTA.EXTRA). */
export interface ExtraRequest {
  readonly subject: Uint8Array;
  readonly amount: number;
  /** The name of the id that the caller chose: a repetition adds nothing. */
  readonly operation: string | undefined;
}

/**
 * The policy with extra tokens of a subject in the current window; the same policy for a repetition. They are an entry
 * of the policy, which is saved before it is sent: there once, whatever crashes and however often it is asked.
 */
export function giveExtra(policy: Policy, request: ExtraRequest, nowMs: number, skewBoundMs: number): Policy {
  const { amount, operation } = request;
  checkRequest(policy, request);
  const subject = Buffer.from(request.subject).toString('latin1');
  const before = operation && policy.extras?.find((extra) => extra.operation === operation);
  if (before) {
    if (before.subject !== subject || before.amount !== amount)
      throw new PolicyError('this ID was used for another operation');
    return policy;
  }
  const window = windowAt(policy, nowMs);
  const most = MAXIMUM_LIMIT - limitOf(policy, request.subject, window);
  if (amount > most) throw new PolicyError(`at most ${most} tokens can be given to a subject with this limit`);
  const extra: Extra = { subject, window, amount, ...(operation !== undefined && { operation }), givenMs: nowMs };
  const extras = [...mergeOld(keepOpen(policy, nowMs, skewBoundMs), nowMs), extra];
  if (extras.length > MAXIMUM_EXTRAS)
    throw new PolicyError(`'${policy.name}' has ${MAXIMUM_EXTRAS} extras in this window already`);
  return { ...policy, extras };
}

function checkRequest(policy: Policy, { subject, amount }: ExtraRequest): void {
  if (isLeased(policy)) throw new PolicyError(`'${policy.name}' limits leases held at once: raise its limit`);
  if (subject.length > MAXIMUM_SUBJECT_BYTES) throw new PolicyError(SUBJECT_TOO_LONG);
  if (!isWhole(amount, 1, MAXIMUM_LIMIT))
    throw new PolicyError(`an amount is a whole number from 1 to ${MAXIMUM_LIMIT}`);
}

/** Those of windows that are not over by every clock, and those that may be repeated. */
function keepOpen(policy: Policy, nowMs: number, skewBoundMs: number): readonly Extra[] {
  return (policy.extras ?? []).filter(
    ({ window, givenMs }) => windowEndMs(policy, window) + skewBoundMs > nowMs || givenMs + REPEAT_WINDOW_MS > nowMs,
  );
}

/** Those that are repeated no more are one for each subject and window. */
function mergeOld(extras: readonly Extra[], nowMs: number): readonly Extra[] {
  const merged = new Map<string, Extra>();
  const recent: Extra[] = [];
  for (const { operation, ...extra } of extras) {
    if (operation !== undefined && extra.givenMs + REPEAT_WINDOW_MS > nowMs) {
      recent.push({ operation, ...extra });
      continue;
    }
    const name = `${extra.window} ${extra.subject}`;
    const sum = merged.get(name)?.amount ?? 0;
    merged.set(name, { ...extra, amount: sum + extra.amount });
  }
  return [...merged.values(), ...recent];
}
