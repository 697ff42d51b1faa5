import { MAXIMUM_LIMIT, MAXIMUM_SUBJECT_BYTES, MAXIMUM_WAIT_MS, SUBJECT_TOO_LONG } from '@quotadb/quota';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import {
  argumentIs,
  copyArgument,
  durationArgument,
  keyword,
  numberArgument,
  quotedArgument,
  textArgument,
} from '../../request/arguments.js';
import type { LeaseOfCheck, LimitCheck } from '../../services/lane-limits.js';

const NAME = 1;
const SUBJECT = 2;
const COST = 3;
const WAIT = keyword('wait');
const LEASE = keyword('lease');
const MAXIMUM_LEASE_BYTES = 128;
const OPTIONS = 'WAIT duration and LEASE id may follow, each once';

/** Reads `name subject [cost] [WAIT wait] [LEASE id]`, or returns the error reply. */
export function readCheck(request: Request, isPeek: boolean): LimitCheck | string {
  const { argumentCount } = request;
  if (request.argumentLength[SUBJECT] > MAXIMUM_SUBJECT_BYTES) return errors.quota(SUBJECT_TOO_LONG);
  const isOption = argumentIs(request, COST, WAIT) || argumentIs(request, COST, LEASE);
  const hasCost = argumentCount > COST && !isOption;
  const cost = hasCost ? numberArgument(request, COST) : 1;
  if (!(cost >= 0 && cost <= MAXIMUM_LIMIT)) return errors.limitCost(textArgument(request, COST), MAXIMUM_LIMIT);
  const options = readOptions(request, hasCost ? COST + 1 : COST);
  if (typeof options === 'string') return options;
  return { name: textArgument(request, NAME), subject: copyArgument(request, SUBJECT), cost, ...options, isPeek };
}

/** Reads `name subject id`, or returns the error reply. */
export function readLease(request: Request): LeaseOfCheck | string {
  if (request.argumentLength[SUBJECT] > MAXIMUM_SUBJECT_BYTES) return errors.quota(SUBJECT_TOO_LONG);
  const fault = findLeaseFault(request, SUBJECT + 1);
  if (fault !== undefined) return fault;
  const lease = textArgument(request, SUBJECT + 1);
  return { name: textArgument(request, NAME), subject: copyArgument(request, SUBJECT), lease };
}

function readOptions(request: Request, first: number): Pick<LimitCheck, 'waitMs' | 'lease'> | string {
  let options: Pick<LimitCheck, 'waitMs' | 'lease'> = {};
  for (let index = first; index < request.argumentCount; index += 2) {
    if (index + 1 >= request.argumentCount) return errors.valueMissing(quotedArgument(request, index), OPTIONS);
    if (argumentIs(request, index, WAIT) && options.waitMs === undefined) {
      const waitMs = readWait(request, index + 1);
      if (typeof waitMs === 'string') return waitMs;
      options = { ...options, waitMs };
    } else if (argumentIs(request, index, LEASE) && options.lease === undefined) {
      const fault = findLeaseFault(request, index + 1);
      if (fault !== undefined) return fault;
      options = { ...options, lease: textArgument(request, index + 1) };
    } else return errors.syntaxAt(index, quotedArgument(request, index), OPTIONS);
  }
  return options;
}

function findLeaseFault(request: Request, index: number): string | undefined {
  const bytes = request.argumentLength[index];
  return bytes >= 1 && bytes <= MAXIMUM_LEASE_BYTES ? undefined : errors.limitLease(MAXIMUM_LEASE_BYTES, bytes);
}

function readWait(request: Request, index: number): number | string {
  const waitMs = durationArgument(request, index);
  if (Number.isNaN(waitMs)) return errors.timeoutNotAnInteger;
  return waitMs >= 0 && waitMs <= MAXIMUM_WAIT_MS ? waitMs : errors.outOfRangeBetween(0, MAXIMUM_WAIT_MS);
}
