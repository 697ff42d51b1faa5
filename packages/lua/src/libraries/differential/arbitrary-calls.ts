import type fc from 'fast-check';
import { formatCalls, patternCalls, stringCalls } from './arbitrary-strings.js';
import { bitCalls, cjsonCalls, cmsgpackCalls, structCalls } from './arbitrary-values.js';
import type { Call } from './comparison.js';

/** Random calls, by what they try. */
export const LIBRARIES: readonly (readonly [name: string, calls: fc.Arbitrary<Call>])[] = [
  ['string', stringCalls],
  ['patterns', patternCalls],
  ['string.format', formatCalls],
  ['bit', bitCalls],
  ['struct', structCalls],
  ['cjson', cjsonCalls],
  ['cmsgpack', cmsgpackCalls],
];
