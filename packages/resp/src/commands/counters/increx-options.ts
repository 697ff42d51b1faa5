import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, integerArgument, integerHalves, keyword } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { type ExpiryUnit, expiryUnitOption } from '../keys/expiry-time.js';
import { BoundedIncrement } from './bounded-increment.js';

/** The options of INCREX. Unlike those of SET, none may be given twice. */

const BYINT = keyword('BYINT');
const BYFLOAT = keyword('BYFLOAT');
const LBOUND = keyword('LBOUND');
const UBOUND = keyword('UBOUND');
const SATURATE = keyword('SATURATE');
const PERSIST = keyword('PERSIST');
const ENX = keyword('ENX');
const FIRST_OPTION = 2;

export interface IncrexOptions {
  readonly increment: BoundedIncrement;
  readonly persists: boolean;
  /** Whether an expiry that the key has already stays. */
  readonly onlyWithoutExpiry: boolean;
  /** The unit of the expiry, and where its number is; undefined without one. */
  readonly expiryUnit: ExpiryUnit | undefined;
  readonly expiryIndex: number;
}

/** The indexes of the options' numbers; 0 where an option was not given. */
class OptionReader implements IncrexOptions {
  readonly increment = new BoundedIncrement();
  persists = false;
  onlyWithoutExpiry = false;
  expiryUnit: ExpiryUnit | undefined;
  expiryIndex = 0;
  amountIndex = 0;
  lowerIndex = 0;
  upperIndex = 0;
  isFloat = false;

  reset(): void {
    this.increment.reset();
    this.persists = false;
    this.onlyWithoutExpiry = false;
    this.expiryUnit = undefined;
    this.expiryIndex = 0;
    this.amountIndex = 0;
    this.lowerIndex = 0;
    this.upperIndex = 0;
    this.isFloat = false;
  }

  /** Finds the options; false where they are a syntax error. */
  find(request: Request): boolean {
    for (let index = FIRST_OPTION; index < request.argumentCount; index++) {
      if (argumentIs(request, index, SATURATE) && !this.increment.saturates) {
        this.increment.saturates = true;
      } else if (argumentIs(request, index, PERSIST) && !this.persists && this.expiryUnit === undefined) {
        this.persists = true;
      } else if (argumentIs(request, index, ENX) && !this.onlyWithoutExpiry) {
        this.onlyWithoutExpiry = true;
      } else {
        if (index + 1 >= request.argumentCount || !this.findNumber(request, index)) return false;
        index++;
      }
    }
    return !(this.persists && this.onlyWithoutExpiry);
  }

  private findNumber(request: Request, index: number): boolean {
    if (argumentIs(request, index, LBOUND) && this.lowerIndex === 0) {
      this.lowerIndex = index + 1;
    } else if (argumentIs(request, index, UBOUND) && this.upperIndex === 0) {
      this.upperIndex = index + 1;
    } else if (this.amountIndex === 0 && (argumentIs(request, index, BYINT) || argumentIs(request, index, BYFLOAT))) {
      this.amountIndex = index + 1;
      this.isFloat = argumentIs(request, index, BYFLOAT);
    } else {
      const unit = expiryUnitOption(request, index);
      if (unit === undefined || this.expiryUnit !== undefined || this.persists) return false;
      this.expiryUnit = unit;
      this.expiryIndex = index + 1;
    }
    return true;
  }

  /** Reads the numbers that were found; returns the error where one is not an integer. */
  read(request: Request): string | undefined {
    const { increment } = this;
    if (this.amountIndex !== 0) {
      if (!integerArgument(request, this.amountIndex)) return errors.namedNotAnInteger('Increment');
      increment.amountHigh = integerHalves[0];
      increment.amountLow = integerHalves[1];
    }
    if (this.lowerIndex !== 0) {
      if (!integerArgument(request, this.lowerIndex)) return errors.namedNotAnInteger('LBOUND');
      increment.lowerHigh = integerHalves[0];
      increment.lowerLow = integerHalves[1];
    }
    if (this.upperIndex !== 0) {
      if (!integerArgument(request, this.upperIndex)) return errors.namedNotAnInteger('UBOUND');
      increment.upperHigh = integerHalves[0];
      increment.upperLow = integerHalves[1];
    }
    return increment.boundsAreCrossed() ? errors.boundsCrossed : undefined;
  }
}

/** One per thread: valid until the next command is read. */
const options = new OptionReader();

/** The options of the call; undefined after an error reply. */
export function readIncrexOptions(call: Call): IncrexOptions | undefined {
  options.reset();
  const error = errorOf(call);
  if (error === undefined) return options;
  call.reply.error(error);
  return undefined;
}

function errorOf(call: Call): string | undefined {
  if (!options.find(call.request)) return errors.syntax;
  if (options.isFloat) return errors.noFloats('BYFLOAT');
  if (options.onlyWithoutExpiry && options.expiryUnit === undefined) return errors.expiryMissingForEnx;
  return options.read(call.request);
}
