import { Random } from './random.js';
import { CONCLUSION, PRELUDE, randomProgram } from './random-program.js';

const TOKENS = /\s+|[\w.]+|'[^'\n]*'|"[^"\n]*"|[=~<>]=|./gs;
const STRANGE = [
  '(',
  ')',
  'end',
  'then',
  '=',
  ',',
  '..',
  '...',
  '1e',
  '0x',
  "'",
  '"',
  '[[',
  '[=',
  '--[[',
  '\\',
  '@',
  '\x01',
  'é',
  '~',
  'break',
  'return',
  'local',
  'goto',
  '::',
  '}',
  'function',
  'until',
  'in',
  ':',
  '.',
  ';',
  "'\\300'",
  '#',
  'nil',
  '\n(',
];

/** A program with a few tokens lost, doubled or strange. It returns before it begins: only its syntax is looked at. */
export function brokenProgram(seed: number): string {
  const random = new Random(seed);
  const body = randomProgram(seed).slice(PRELUDE.length, -CONCLUSION.length);
  const tokens = body.match(TOKENS) ?? [];
  for (let change = 1 + random.below(2); change > 0; change--) {
    const at = random.below(tokens.length);
    if (random.chance(0.4)) tokens.splice(at, 1);
    else if (random.chance(0.3)) tokens.splice(at, 0, tokens[at] ?? '');
    else tokens.splice(at, 0, ` ${random.pick(STRANGE)} `);
  }
  return `do return 'its syntax is right' end\n${tokens.join('')}`;
}
