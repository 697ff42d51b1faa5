import { type Lapse, MAXIMUM_WAIT_MS } from '@quotadb/quota';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, bytesArgument, keyword, numberArgument } from '../../request/arguments.js';

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

/** The options from the argument `first` on, or the error reply. */
export function readOptions(request: Request, first: number, isReservation = false): TakeOptions | string {
  let waitMs: number | undefined;
  let id: string | undefined;
  let lapse: Lapse | undefined;
  for (let index = first; index < request.argumentCount; index += 2) {
    if (index + 1 >= request.argumentCount) return errors.syntax;
    if (argumentIs(request, index, WAIT) && waitMs === undefined) {
      waitMs = numberArgument(request, index + 1);
      if (Number.isNaN(waitMs)) return errors.timeoutNotAnInteger;
      if (waitMs < 0 || waitMs > MAXIMUM_WAIT_MS) return errors.outOfRangeBetween(0, MAXIMUM_WAIT_MS);
    } else if (isReservation && argumentIs(request, index, LAPSE) && lapse === undefined) {
      if (argumentIs(request, index + 1, REFUND)) lapse = 'refund';
      else if (argumentIs(request, index + 1, CHARGE)) lapse = 'charge';
      else return errors.syntax;
    } else if (argumentIs(request, index, ID) && id === undefined) {
      const length = request.argumentLength[index + 1];
      if (length < 1 || length > MAXIMUM_ID_BYTES)
        return errors.quota(`ID must have 1 to ${MAXIMUM_ID_BYTES} bytes, this one has ${length}`);
      id = Buffer.from(bytesArgument(request, index + 1)).toString('latin1');
    } else return errors.syntax;
  }
  return { waitMs, id, lapse };
}
