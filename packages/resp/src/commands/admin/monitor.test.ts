import { beforeEach, expect, test } from 'vitest';
import { errors } from '../../errors/errors.js';
import { TestLane, type TestSession } from '../../testing/index.js';

let lane: TestLane;
let monitor: TestSession;
let other: TestSession;
beforeEach(() => {
  lane = new TestLane({ databases: 2 });
  monitor = lane.open();
  other = lane.open();
  expect(monitor.call('MONITOR')).toBe('+OK\r\n');
});

/** The lines without their times. */
const shown = (reply: string) => reply.replaceAll(/\+[\d.]+ /g, '');

test('shows every command as its client wrote it, in the order in which they ran', () => {
  other.send('SET a 1\r\nMULTI\r\nSELECT 1\r\nINCR "b\\r\\n\\x01\\xff"\r\nEXEC\r\nnosuch\r\nGET\r\n');
  const where = (database: number) => `[${database} ${other.client.address}]`;
  expect(shown(monitor.resume())).toBe(
    [
      `${where(0)} "SET" "a" "1"`,
      `${where(0)} "MULTI"`,
      `${where(1)} "SELECT" "1"`,
      `${where(1)} "INCR" "b\\r\\n\\x01\\xff"`,
      `${where(1)} "EXEC"`,
      '',
    ].join('\r\n'),
  );
});

test('shows no secrets, and not what administrators do', () => {
  other.send('AUTH secret1\r\nAUTH me secret2\r\nHELLO 2 AUTH me secret3\r\nCONFIG SET requirepass secret4\r\n');
  const reply = monitor.resume();
  expect(reply).toContain('"AUTH" "(redacted)" "(redacted)"');
  expect(reply).not.toContain('secret');
  expect(reply).not.toContain('CONFIG');
});

test('ends with RESET, or with the connection, and then nothing is collected', () => {
  expect(monitor.call('GET', 'a')).toBe(`-${errors.monitoring}\r\n`);
  expect(monitor.call('PING')).toMatch(/^\+PONG\r\n/);
  monitor.call('RESET');
  const { monitors } = lane.lane.server;
  expect(monitors.isOn).toBe(false);
  expect(monitor.call('GET', 'a')).toBe('$-1\r\n');
  monitor.call('MONITOR');
  expect(monitors.isOn).toBe(true);
  monitor.destroy();
  expect(monitors.isOn).toBe(false);
});

test('a client that does not read misses commands and learns how many; memory is bounded', () => {
  const value = '1'.repeat(18);
  for (let count = 0; count < 1000; count++) other.send(`SET ${'k'.repeat(2000)} ${value}\r\n`.repeat(20));
  const reply = monitor.resume();
  expect(reply.length).toBeLessThan(1.2 * 1024 * 1024);
  expect(reply).toMatch(/\+\.\.\. \d+ commands are left out: this client reads too slowly\r\n$/);
});
