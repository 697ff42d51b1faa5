import { beforeEach, expect, test } from 'vitest';
import { CommandRunner } from '../../testing/index.js';

let runner: CommandRunner;
beforeEach(() => {
  runner = new CommandRunner();
});

test('the first increment starts the expiry, later ones leave it', () => {
  expect(runner.run('INCRBYEX k 5 100')).toBe(':5\r\n');
  expect(runner.run('TTL k')).toBe(':100\r\n');
  expect(runner.run('INCRBYEX k -7 5000')).toBe(':-2\r\n');
  expect(runner.run('TTL k')).toBe(':100\r\n');
});

test('a key without expiry gets one', () => {
  runner.run('SET k 40');
  expect(runner.run('INCRBYEX k 2 100')).toBe(':42\r\n');
  expect(runner.run('TTL k')).toBe(':100\r\n');
});

test('after the expiry counting begins anew', () => {
  runner.run('INCRBYEX k 5 100');
  runner.advance(100_000);
  expect(runner.run('GET k')).toBe('$-1\r\n');
  expect(runner.run('INCRBYEX k 1 100')).toBe(':1\r\n');
  expect(runner.run('TTL k')).toBe(':100\r\n');
});

test.each([
  ['INCRBYEX k x 100', "ERR value is not an integer or out of range: the increment is 'x'"],
  [
    'INCRBYEX k 1 soon',
    "ERR value is not an integer or out of range: the expiry is 'soon'. Give seconds, or a duration such as 250ms, 60s, " +
      '5m, 1h30m, 1d or 2w',
  ],
  ['INCRBYEX k 1 0', "ERR invalid expire time in 'incrbyex' command"],
  ['INCRBYEX k 1 -5', "ERR invalid expire time in 'incrbyex' command"],
  ['INCRBYEX k 1 9223372036854775807', "ERR invalid expire time in 'incrbyex' command"],
  ['INCRBYEX k 1', "ERR wrong number of arguments for 'incrbyex' command: INCRBYEX key increment <seconds | duration>"],
])('%s is refused', (line, error) => {
  expect(runner.run(line)).toBe(`-${error}\r\n`);
  expect(runner.run('EXISTS k')).toBe(':0\r\n');
});

test('the expiry may be a duration', () => {
  runner.run('INCRBYEX k 1 5m');
  expect(runner.run('TTL k')).toBe(':300\r\n');
  runner.run('INCRBYEX soon 1 250ms');
  expect(runner.run('PTTL soon')).toBe(':250\r\n');
});

test('an overflow changes neither value nor expiry', () => {
  runner.run('SET k 9223372036854775807');
  expect(runner.run('INCRBYEX k 1 100')).toBe('-ERR increment or decrement would overflow\r\n');
  expect(runner.run('GET k')).toBe('$19\r\n9223372036854775807\r\n');
  expect(runner.run('TTL k')).toBe(':-1\r\n');
});
