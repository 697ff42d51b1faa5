import { beforeEach, describe, expect, test } from 'vitest';
import { errors } from '../../../errors/errors.js';
import { TestLane, type TestSession } from '../../../testing/index.js';

let lane: TestLane;
let admin: TestSession;
let other: TestSession;
beforeEach(() => {
  lane = new TestLane();
  admin = lane.open();
  other = lane.open();
});

describe('CLIENT PAUSE', () => {
  test('lets commands wait until its time is over, in the order in which they came', () => {
    admin.call('CLIENT', 'PAUSE', 1000);
    expect(other.send('SET a 1\r\nINCR a\r\n')).toBe('');
    expect(other.session.waitMs).toBe(1000);
    lane.clock.advance(1000);
    expect(other.resume()).toBe('+OK\r\n:2\r\n');
    expect(admin.call('GET', 'a')).toBe('$1\r\n2\r\n');
  });

  test('WRITE lets readers go on, and transactions that only read', () => {
    admin.call('CLIENT', 'PAUSE', 1000, 'WRITE');
    expect(other.send('GET a\r\nMULTI\r\nGET a\r\nEXEC\r\n')).toBe('$-1\r\n+OK\r\n+QUEUED\r\n*1\r\n$-1\r\n');
    expect(other.call('INCR', 'a')).toBe('');
    expect(admin.call('CLIENT', 'UNPAUSE')).toBe('+OK\r\n');
    expect(other.resume()).toBe(':1\r\n');
  });

  test('an EXEC with a write waits', () => {
    other.send('MULTI\r\nINCR a\r\n');
    admin.call('CLIENT', 'PAUSE', 1000, 'WRITE');
    expect(other.call('EXEC')).toBe('');
    lane.clock.advance(1000);
    expect(other.resume()).toBe('*1\r\n:1\r\n');
  });

  test('holds for new connections, and of two the later end', () => {
    admin.call('CLIENT', 'PAUSE', 1000, 'WRITE');
    admin.call('CLIENT', 'PAUSE', 10, 'WRITE');
    const late = lane.open();
    expect(late.call('INCR', 'a')).toBe('');
    expect(late.session.waitMs).toBe(1000);
  });

  test('after it, a command costs what it cost before', () => {
    admin.call('CLIENT', 'PAUSE', 10);
    lane.clock.advance(10);
    other.call('PING');
    expect([admin, other].map(({ client }) => client.lacks)).toEqual([0, 0]);
  });

  test('is refused in the words of Redis', () => {
    expect(admin.call('CLIENT', 'PAUSE', 'x')).toBe('-ERR timeout is not an integer or out of range\r\n');
    expect(admin.call('CLIENT', 'PAUSE', -1)).toBe('-ERR timeout is negative\r\n');
    expect(admin.call('CLIENT', 'PAUSE', 1, 'READ')).toBe('-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n');
  });
});

test('CLIENT UNBLOCK ends a wait as its timeout would, or with an error', () => {
  for (const [reason, reply] of [
    ['TIMEOUT', ':0\r\n'],
    ['ERROR', `-${errors.unblocked}\r\n`],
  ]) {
    expect(other.call('WAIT', 1, 0)).toBe('');
    expect(admin.call('CLIENT', 'UNBLOCK', other.client.id, reason)).toBe(':1\r\n');
    expect(other.resume()).toBe(reply);
  }
  expect(admin.call('CLIENT', 'UNBLOCK', other.client.id)).toBe(':0\r\n');
  expect(admin.call('CLIENT', 'UNBLOCK', 9999)).toBe(':0\r\n');
});

test('CLIENT TRACKING ON is refused, so that no client shows old counts', () => {
  expect(other.call('CLIENT', 'TRACKING', 'ON')).toBe(`-${errors.noTracking}\r\n`);
  expect(other.call('CLIENT', 'TRACKING', 'OFF')).toBe('+OK\r\n');
});
