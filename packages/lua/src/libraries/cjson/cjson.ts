import { raiseArgument } from '../../values/raise.js';
import type { Value } from '../../values/value.js';
import { checkString } from '../checks.js';
import type { Library } from '../library.js';
import { decode } from './decode.js';
import { encode } from './encode.js';
import { JSON_NULL } from './null.js';
import { defaultSettings, settingFunctions } from './settings.js';

/** The library `cjson` as Redis ships it (2.1.0), with settings of its own. */
export function createCjson(tableOf: (library: Library) => Value): Library {
  const settings = defaultSettings();
  return {
    encode(value: Value): string {
      if (arguments.length !== 1) raiseArgument(1, 'expected 1 argument');
      return encode(value, settings);
    },
    decode(text: Value): Value {
      if (arguments.length !== 1) raiseArgument(1, 'expected 1 argument');
      return decode(checkString(text, 1), settings);
    },
    ...settingFunctions(settings),
    new: () => tableOf(createCjson(tableOf)),
    null: JSON_NULL,
    _NAME: 'cjson',
    _VERSION: '2.1.0',
  };
}
