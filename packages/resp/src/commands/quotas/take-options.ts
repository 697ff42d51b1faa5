import { type Lapse, MAXIMUM_WAIT_MS } from '@quotadb/quota';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, bytesArgument, durationArgument, keyword, quotedArgument } from '../../request/arguments.js';

/**
 * The options after the cost: how long to wait for a refill; an id, under which a repeated request is answered and not
 * charged again; for a reservation, whether its estimate is refunded or charged after the TTL.
 */
export interface TakeOptions {
  readonly waitMs?: number | undefined;
  readonly id?: string | undefined;
  readonly lapse?: Lapse | undefined;
}

export const NO_OPTIONS: TakeOptions = {};
const WAIT = keyword('wait');
const ID = keyword('id');
const LAPSE = keyword('lapse');
const REFUND = keyword('refund');
const CHARGE = keyword('charge');
const MAXIMUM_ID_BYTES = 128;
const ALLOWED = {
  take: 'WAIT duration and ID token may follow, each once',
  reservation: 'WAIT duration, ID token and LAPSE REFUND or CHARGE may follow, each once',
  adjustment: 'ID token may follow',
} as const;

/** The options from the argument `first` on, or the error reply. */
export function readOptions(
  request: Request,
  first: number,
  kind: keyof typeof ALLOWED = 'take',
): TakeOptions | string {
  const allowed = ALLOWED[kind];
  let waitMs: number | undefined;
  let id: string | undefined;
  let lapse: Lapse | undefined;
  for (let index = first; index < request.argumentCount; index += 2) {
    if (index + 1 >= request.argumentCount) {
      const isOption = [WAIT, ID].some((word) => argumentIs(request, index, word)) || argumentIs(request, index, LAPSE);
      const word = quotedArgument(request, index);
      return isOption ? errors.valueMissing(word, allowed) : errors.syntaxAt(index, word, allowed);
    }
    if (kind !== 'adjustment' && argumentIs(request, index, WAIT) && waitMs === undefined) {
      waitMs = durationArgument(request, index + 1);
      if (!(waitMs >= 0 && waitMs <= MAXIMUM_WAIT_MS))
        return errors.notADuration('WAIT', quotedArgument(request, index + 1), 0, MAXIMUM_WAIT_MS);
    } else if (kind === 'reservation' && argumentIs(request, index, LAPSE) && lapse === undefined) {
      if (argumentIs(request, index + 1, REFUND)) lapse = 'refund';
      else if (argumentIs(request, index + 1, CHARGE)) lapse = 'charge';
      else return errors.syntaxAt(index + 1, quotedArgument(request, index + 1), 'LAPSE is REFUND or CHARGE');
    } else if (argumentIs(request, index, ID) && id === undefined) {
      const length = request.argumentLength[index + 1];
      if (length < 1 || length > MAXIMUM_ID_BYTES)
        return errors.quota(`ID must have 1 to ${MAXIMUM_ID_BYTES} bytes, this one has ${length}`);
      id = Buffer.from(bytesArgument(request, index + 1)).toString('latin1');
    } else return errors.syntaxAt(index, quotedArgument(request, index), allowed);
  }
  return { waitMs, id, lapse };
}

const TTL = keyword('ttl');

/**
 * The milliseconds behind the word TTL at this argument, or the error reply. The quota decides whether they are too
 * many.
 */
export function readTtl(request: Request, index: number, maximumMs: number): number | string {
  if (!argumentIs(request, index, TTL))
    return errors.syntaxAt(index, quotedArgument(request, index), 'TTL and a duration are needed');
  const ttlMs = durationArgument(request, index + 1);
  return Number.isNaN(ttlMs) ? errors.notADuration('TTL', quotedArgument(request, index + 1), 1, maximumMs) : ttlMs;
}
