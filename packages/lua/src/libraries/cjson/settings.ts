import { beforeZero } from '../../values/c-string.js';
import { raiseArgument } from '../../values/raise.js';
import { type Value, Values } from '../../values/value.js';
import { checkInt, checkString } from '../checks.js';
import { INT_MAX } from '../integers.js';
import type { Library } from '../library.js';

/** What `cjson.encode_…` and `cjson.decode_…` set. Each `cjson.new()` has its own. */
export interface Settings {
  sparseConvert: boolean;
  sparseRatio: number;
  sparseSafe: number;
  encodeMaxDepth: number;
  decodeMaxDepth: number;
  encodeInvalidNumbers: 'off' | 'on' | 'null';
  decodeInvalidNumbers: boolean;
  /** Returned to the script, and without meaning here: no buffer is kept. */
  keepBuffer: boolean;
  numberPrecision: number;
}

const MAX_NUMBER_PRECISION = 14;
const SWITCH = ['off', 'on'] as const;
const INVALID_NUMBERS = ['off', 'on', 'null'] as const;

export function defaultSettings(): Settings {
  return {
    sparseConvert: false,
    sparseRatio: 2,
    sparseSafe: 10,
    encodeMaxDepth: 1000,
    decodeMaxDepth: 1000,
    encodeInvalidNumbers: 'off',
    decodeInvalidNumbers: true,
    keepBuffer: true,
    numberPrecision: MAX_NUMBER_PRECISION,
  };
}

/** The functions that set them; each returns what holds then, also where it is given nothing. */
export function settingFunctions(settings: Settings): Library {
  return {
    encode_sparse_array(convert: Value, ratio: Value, safe: Value): Values {
      refuseMoreThan(3, arguments.length);
      settings.sparseConvert = switched(convert, settings.sparseConvert);
      settings.sparseRatio = whole(ratio, 2, settings.sparseRatio, 0, INT_MAX);
      settings.sparseSafe = whole(safe, 3, settings.sparseSafe, 0, INT_MAX);
      return new Values([settings.sparseConvert, settings.sparseRatio, settings.sparseSafe]);
    },
    encode_max_depth(depth: Value): number {
      refuseMoreThan(1, arguments.length);
      settings.encodeMaxDepth = whole(depth, 1, settings.encodeMaxDepth, 1, INT_MAX);
      return settings.encodeMaxDepth;
    },
    decode_max_depth(depth: Value): number {
      refuseMoreThan(1, arguments.length);
      settings.decodeMaxDepth = whole(depth, 1, settings.decodeMaxDepth, 1, INT_MAX);
      return settings.decodeMaxDepth;
    },
    encode_number_precision(digits: Value): number {
      refuseMoreThan(1, arguments.length);
      settings.numberPrecision = whole(digits, 1, settings.numberPrecision, 1, MAX_NUMBER_PRECISION);
      return settings.numberPrecision;
    },
    encode_keep_buffer(keep: Value): boolean {
      refuseMoreThan(1, arguments.length);
      settings.keepBuffer = switched(keep, settings.keepBuffer);
      return settings.keepBuffer;
    },
    encode_invalid_numbers(how: Value): boolean | string {
      refuseMoreThan(1, arguments.length);
      if (how !== undefined) settings.encodeInvalidNumbers = option(how, INVALID_NUMBERS);
      return settings.encodeInvalidNumbers === 'null' ? 'null' : settings.encodeInvalidNumbers === 'on';
    },
    decode_invalid_numbers(allowed: Value): boolean {
      refuseMoreThan(1, arguments.length);
      settings.decodeInvalidNumbers = switched(allowed, settings.decodeInvalidNumbers);
      return settings.decodeInvalidNumbers;
    },
  };
}

function refuseMoreThan(most: number, given: number): void {
  if (given > most) raiseArgument(most + 1, 'found too many arguments');
}

function switched(value: Value, now: boolean): boolean {
  return value === undefined ? now : option(value, SWITCH) === 'on';
}

function option<T extends string>(value: Value, options: readonly T[]): T {
  if (typeof value === 'boolean') return options[value ? 1 : 0]!;
  const name = beforeZero(checkString(value, 1));
  const found = options.find((each) => each === name);
  return found ?? raiseArgument(1, `invalid option '${name}'`);
}

/** The original blames the first argument, whichever it is. */
function whole(value: Value, position: number, now: number, least: number, most: number): number {
  if (value === undefined) return now;
  const number = checkInt(value, position);
  if (number < least || number > most) raiseArgument(1, `expected integer between ${least} and ${most}`);
  return number;
}
