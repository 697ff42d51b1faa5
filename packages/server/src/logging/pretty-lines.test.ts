import { expect, test } from 'vitest';
import { formatLine } from './pretty-lines.js';

const time = new Date(2026, 0, 2, 3, 4, 5).getTime();

test('a line has its time, level, message and fields, and no colours where there are to be none', () => {
  const line = { level: 30, time, region: 'us', peer: 'eu', percent: 40, from: 'a b', msg: 'copying' };
  expect(formatLine(line, false)).toBe('03:04:05 INFO  copying peer=eu percent=40 from="a b"');
});

test('a long id is cut: a person at a terminal reads the line, and not the id', () => {
  const line = { level: 30, time, keys: 3, incarnation: '91cdc3354366c2ade6f58f32a145fde7', msg: 'data loaded' };
  expect(formatLine(line, false)).toBe('03:04:05 INFO  data loaded keys=3 incarnation=91cdc335…');
});

test('colours come with the level, and end before the message', () => {
  expect(formatLine({ level: 40, time, msg: 'careful' }, true)).toBe(
    '\x1b[2m03:04:05\x1b[0m \x1b[33mWARN \x1b[0m careful',
  );
});

test('an error has its stack below the message', () => {
  const err = { message: 'no', stack: 'Error: no\n    at here (file:1)' };
  expect(formatLine({ level: 50, time, msg: 'failed', err }, false)).toBe(
    '03:04:05 ERROR failed\n    Error: no\n    at here (file:1)',
  );
});

test('control and bidirectional characters of clients and peers reach no terminal', () => {
  const line = formatLine({ level: 30, time, user: '\x1b]0;owned\x07\u202egpj', msg: 'login\r\nfailed' }, false);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for
  expect(line).not.toMatch(/[\u0000-\u001f\u202e]/);
  expect(line).toContain('login\\r\\nfailed');
});
