import { expect, test } from 'vitest';
import { usesColors } from './colors.js';

const terminal = { isTTY: true };

test.each([
  ['a terminal', terminal, { TERM: 'xterm' }, true],
  ['a file or a pipe', {}, { TERM: 'xterm' }, false],
  ['NO_COLOR', terminal, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
  ['a dumb terminal', terminal, { TERM: 'dumb' }, false],
  ['FORCE_COLOR in a pipe', {}, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ['NO_COLOR and FORCE_COLOR', terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
])('%s decides about colours', (_, stream, environment, expected) => {
  expect(usesColors(stream, environment)).toBe(expected);
});
