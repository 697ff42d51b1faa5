import type { Request } from '@quotadb/wire';
import { argumentIs, keyword } from '../../request/arguments.js';
import { type ExpiryUnit, expiryUnitOption } from '../keys/expiry-time.js';

/**
 * The options of SET and of GETEX, which Redis reads by the same rules: of a repeated option the last one counts, and
 * two options that contradict each other are a syntax error.
 */

const NX = keyword('NX');
const XX = keyword('XX');
const GET = keyword('GET');
const KEEPTTL = keyword('KEEPTTL');
const PERSIST = keyword('PERSIST');

export interface SetOptions {
  readonly onlyIfMissing: boolean;
  readonly onlyIfPresent: boolean;
  readonly returnsOld: boolean;
  readonly keepsExpiry: boolean;
  readonly persists: boolean;
  /** The unit of the expiry, and where its number is; undefined without one. */
  readonly expiryUnit: ExpiryUnit | undefined;
  readonly expiryIndex: number;
}

class OptionReader implements SetOptions {
  onlyIfMissing = false;
  onlyIfPresent = false;
  returnsOld = false;
  keepsExpiry = false;
  persists = false;
  expiryUnit: ExpiryUnit | undefined;
  expiryIndex = 0;

  reset(): void {
    this.onlyIfMissing = false;
    this.onlyIfPresent = false;
    this.returnsOld = false;
    this.keepsExpiry = false;
    this.persists = false;
    this.expiryUnit = undefined;
    this.expiryIndex = 0;
  }

  /** Takes an option of SET's own; false where it is another, or contradicts an option before it. */
  takeSetOption(request: Request, index: number): boolean {
    if (argumentIs(request, index, NX) && !this.onlyIfPresent) this.onlyIfMissing = true;
    else if (argumentIs(request, index, XX) && !this.onlyIfMissing) this.onlyIfPresent = true;
    else if (argumentIs(request, index, GET)) this.returnsOld = true;
    else if (argumentIs(request, index, KEEPTTL) && this.expiryUnit === undefined) this.keepsExpiry = true;
    else return false;
    return true;
  }

  takePersist(request: Request, index: number): boolean {
    if (!argumentIs(request, index, PERSIST) || this.expiryUnit !== undefined) return false;
    this.persists = true;
    return true;
  }

  /** Takes an expiry option and the number after it. */
  takeExpiry(request: Request, index: number): boolean {
    const unit = expiryUnitOption(request, index);
    if (unit === undefined || index + 1 >= request.argumentCount) return false;
    if (this.keepsExpiry || this.persists) return false;
    if (this.expiryUnit !== undefined && this.expiryUnit !== unit) return false;
    this.expiryUnit = unit;
    this.expiryIndex = index + 1;
    return true;
  }
}

/** One per thread: valid until the next command is read. */
const options = new OptionReader();

/** The options of SET from this argument on; undefined where they are a syntax error. */
export function readSetOptions(request: Request, first: number): SetOptions | undefined {
  options.reset();
  for (let index = first; index < request.argumentCount; index++) {
    if (options.takeSetOption(request, index)) continue;
    if (!options.takeExpiry(request, index)) return undefined;
    index++;
  }
  return options;
}

/** The options of GETEX from this argument on; undefined where they are a syntax error. */
export function readGetexOptions(request: Request, first: number): SetOptions | undefined {
  options.reset();
  for (let index = first; index < request.argumentCount; index++) {
    if (options.takePersist(request, index)) continue;
    if (!options.takeExpiry(request, index)) return undefined;
    index++;
  }
  return options;
}
