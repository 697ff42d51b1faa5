import { createHash } from 'node:crypto';
import type { Role, UserRecord } from '@quotadb/config';
import { beforeEach, describe, expect, test } from 'vitest';
import { TestLane, type TestSession } from '../../testing/index.js';

let lane: TestLane;
let session: TestSession;
beforeEach(() => {
  lane = new TestLane();
  session = lane.open();
});

const digestOf = (source: string) => createHash('sha1').update(source, 'latin1').digest('hex');
const evaluate = (source: string, ...rest: (string | number)[]) =>
  session.call('EVAL', source, ...(rest.length === 0 ? [0] : rest));

describe('a script', () => {
  test('is found by its digest once it was loaded or run, until all are removed', () => {
    const digest = digestOf('return ARGV[1]');
    expect(session.call('EVALSHA', digest, 0, 'x')).toBe('-NOSCRIPT No matching script. Please use EVAL.\r\n');
    expect(session.call('SCRIPT', 'LOAD', 'return ARGV[1]')).toBe(`$40\r\n${digest}\r\n`);
    expect(session.call('EVALSHA', digest, 0, 'x')).toBe('$1\r\nx\r\n');
    expect(session.call('EVALSHA', digest.toUpperCase(), 0, 'y')).toBe('$1\r\ny\r\n');
    evaluate('return 7');
    expect(session.call('SCRIPT', 'EXISTS', digest, digestOf('return 7'), 'x')).toBe('*3\r\n:1\r\n:1\r\n:0\r\n');
    expect(session.call('INFO', 'memory')).toMatch(/number_of_cached_scripts:2\r\n/);
    expect(session.call('SCRIPT', 'FLUSH')).toBe('+OK\r\n');
    expect(session.call('EVALSHA', digest, 0, 'x')).toMatch(/^-NOSCRIPT/);
    expect(session.call('EVALSHA', digestOf('return 7'), 0)).toMatch(/^-NOSCRIPT/);
    expect(session.call('INFO', 'memory')).toMatch(/used_memory_scripts:0\r\n/);
  });

  test('that is new each time leaves the loaded ones', () => {
    session.call('SCRIPT', 'LOAD', 'return 1');
    for (let index = 0; index < 1500; index++) evaluate(`return ${index}+0`);
    expect(session.call('EVALSHA', digestOf('return 1'), 0)).toBe(':1\r\n');
    expect(session.call('EVALSHA', digestOf('return 1499+0'), 0)).toBe(':1499\r\n');
    expect(session.call('EVALSHA', digestOf('return 0+0'), 0)).toMatch(/^-NOSCRIPT/);
  });

  test('that fails leaves what it has changed', () => {
    expect(evaluate("redis.call('incr',KEYS[1]) error('late')", 1, 'a')).toMatch(/^-ERR user_script:1: late script/);
    expect(session.call('GET', 'a')).toBe('$1\r\n1\r\n');
  });

  test('calls the commands that Redis does not have', () => {
    expect(evaluate("return redis.call('INCREX',KEYS[1])", 1, 'a')).toMatch(/^\*2\r\n:1\r\n/);
    expect(evaluate("return redis.call('RATE.LIMIT',KEYS[1],10,1000)", 1, 'a')).toMatch(/^\*\d\r\n:1\r\n/);
    expect(evaluate("return redis.call('WINDOW.INCRBY',KEYS[1],60000,3)", 1, 'a')).not.toMatch(/^-/);
    expect(evaluate("return redis.call('QUOTA.TAKE','none',KEYS[1],1)", 1, 'a')).toMatch(
      /^-ERR this command asks another thread and cannot run inside MULTI or a script script: /,
    );
    expect(evaluate("return redis.call('KEYS','*')")).toBe('*1\r\n$1\r\na\r\n');
  });

  test('is told what is missing when it publishes', () => {
    expect(evaluate("return redis.call('PUBLISH','c','m')")).toMatch(/^-NOTSUPPORTED publish/);
  });

  test('does not reach reserved keys', () => {
    const reply = evaluate("return redis.call('GET','\\0QD'..ARGV[1])", 0, 'x');
    expect(reply).toMatch(/^-ERR keys that begin with the bytes 00 51 44 are reserved/);
    expect(session.call('EVAL', 'return 1', 1, '\0QDx')).toMatch(/^-ERR keys that begin/);
  });

  test('gets a nested reply, and gives one back up to a bound', () => {
    expect(evaluate('local t={} for i=1,999 do t={t} end return t')).not.toMatch(/-ERR/);
    expect(evaluate('local t={} t[1]=t return t')).toMatch(/-ERR reached lua stack limit\r\n$/);
    expect(session.call('PING')).toBe('+PONG\r\n');
  });

  test('is counted with the commands that it calls, and an error of theirs once', () => {
    session.call('CONFIG', 'RESETSTAT');
    evaluate("redis.call('incr','a') return redis.call('incr','a')");
    evaluate("return redis.call('incr','a','b')");
    evaluate("redis.pcall('set','a','x') return 1");
    const statistics = session.call('INFO', 'commandstats');
    expect(statistics).toMatch(/cmdstat_incr:calls=2,.*rejected_calls=1,failed_calls=0/);
    expect(statistics).toMatch(/cmdstat_set:calls=1,.*rejected_calls=0,failed_calls=1/);
    expect(statistics).toMatch(/cmdstat_eval:calls=3,.*rejected_calls=0,failed_calls=1/);
    const errorCodes = session.call('INFO', 'errorstats');
    for (const code of ['ERR', 'NOTINTEGER']) expect(errorCodes).toContain(`errorstat_${code}:count=1\r\n`);
  });

  test('is written to the slow log', () => {
    session.call('CONFIG', 'SET', 'slowlog-log-slower-than', 0);
    evaluate('return 1');
    expect(session.call('SLOWLOG', 'GET', 1)).toMatch(/\r\neval\r\n|\r\nEVAL\r\n/);
  });

  test('runs inside EXEC and under CLIENT REPLY OFF', () => {
    session.call('MULTI');
    expect(evaluate("return redis.call('incr','a')")).toBe('+QUEUED\r\n');
    expect(evaluate("return redis.call('nosuch')")).toBe('+QUEUED\r\n');
    expect(session.call('EXEC')).toMatch(/^\*2\r\n:1\r\n-ERR Unknown Redis command called from script script: /);
    session.call('CLIENT', 'REPLY', 'OFF');
    expect(evaluate("return redis.call('incr','a')")).toBe('');
    session.call('CLIENT', 'REPLY', 'ON');
    expect(session.call('GET', 'a')).toBe('$1\r\n2\r\n');
  });

  test('may be any bytes, and so may keys, arguments and results', () => {
    const all = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('');
    expect(session.call('EVAL', "return KEYS[1] .. '\xff' .. ARGV[1]", 1, all, all)).toBe(
      `$513\r\n${all}\xff${all}\r\n`,
    );
    expect(session.call('EVAL', "return redis.call('ECHO', ARGV[1])", 0, all)).toBe(`$256\r\n${all}\r\n`);
    expect(session.call('EVAL', 'return {err="A \xe4\\r\\n"}', 0)).toBe('-A \xe4\r\n');
    const long = all.repeat(1000);
    expect(session.call('EVAL', "return redis.call('ECHO', ARGV[1])", 0, long)).toBe(`$256000\r\n${long}\r\n`);
  });
});

describe('a hostile script', () => {
  test.each([
    ['recursion without end', 'local function f() return 1 + f() end return f()'],
    ['mutual recursion', 'local g local function f() return 1 + g() end g = function() return 1 + f() end return f()'],
    ['a table without end', 'local t = {} while true do t[#t+1] = {} end'],
    ['a string without end', "local s = 'x' while true do s = s .. s end"],
    ['replies without end', "local t = {} while true do t[#t+1] = redis.call('echo', ARGV[1]) end"],
    ['an error without end', 'local function f() error(setmetatable({}, {__tostring = f})) end f()'],
  ])('with %s is ended, and the lane serves on', (_, source) => {
    expect(evaluate(source, 0, 'x'.repeat(1000))).toMatch(/^-/);
    expect(session.call('PING')).toBe('+PONG\r\n');
    expect(lane.faults).toEqual([]);
  });

  /** Each is small in memory, and would be without bound as a request, a reply or lines of the log. */
  test.each([
    ['a result that has itself in it twice', 'local t={} t[1]=t t[2]=t return t', /result of the script is too large/],
    [
      'a result of one string many times',
      "local s,t=string.rep('x',4e7),{} for i=1,9 do t[i]=s end return t",
      /result of the script is too large/,
    ],
    [
      'one string as many arguments',
      "local s,t=string.rep('x',4e7),{} for i=1,99 do t[i]=s end return redis.pcall('mget',unpack(t))",
      /allocated more memory/,
    ],
    ['lines of the log without end', "while true do redis.log(redis.LOG_WARNING,'x') end", /allocated more memory/],
  ])('with %s gets an error', (_, source, message) => {
    expect(evaluate(source)).toMatch(message);
    expect(session.call('PING')).toBe('+PONG\r\n');
    expect(lane.faults).toEqual([]);
  });

  test.each(['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty'])('finds no %s anywhere', (name) => {
    expect(evaluate(`return tostring(({})[ARGV[1]])`, 0, name)).toBe('$3\r\nnil\r\n');
    expect(evaluate(`return tostring(redis[ARGV[1]])`, 0, name)).toBe('$3\r\nnil\r\n');
    expect(evaluate(`return redis.call(ARGV[1])`, 0, name)).toMatch(/^-ERR Unknown Redis command/);
    expect(evaluate(`return ${name}`)).toMatch(/^-ERR user_script:1: Script attempted to access nonexistent global/);
    expect(evaluate(`return pcall(function() return redis.call.${name} end)`)).not.toMatch(/function|native/);
  });
});

describe('a script without end', () => {
  const ENDLESS = 'while true do end';
  const AFTER_WRITING = "redis.call('incr','a') while true do end";
  const CAUGHT = 'while true do pcall(function() while true do end end) end';

  /** Time passes whenever a script is looked after. */
  beforeEach(() => {
    lane.clock.monotonic = () => {
      lane.clock.advance(500);
      return lane.clock.nowMs;
    };
  });

  test.each([ENDLESS, AFTER_WRITING, CAUGHT])('is ended after a minute, and what it wrote stays: %s', (source) => {
    expect(evaluate(source)).toMatch(
      /^-ERR Script ended: it has run for 60 seconds.*stays( script: \w+, on @user_script:1\.)?\r\n$/,
    );
    expect(session.call('EXISTS', 'a')).toBe(source === AFTER_WRITING ? ':1\r\n' : ':0\r\n');
    expect(lane.faults).toEqual([]);
  });

  /** No loop of the script gives an occasion to look after it: its commands and functions do. */
  test.each([
    ['commands over all keys', "redis.call('keys','x') "],
    ['long strings as numbers', 'tonumber(s) '],
    ['long strings that are hashed', 'redis.sha1hex(s) '],
    ['texts that are looked for', "string.find(s,'x',1,true) "],
    ['JSON that does not end', "pcall(cjson.decode,'\"'..s) "],
    ['tables that are gone through', 'table.maxn(t) '],
  ])('is ended after a minute where each step is slow: %s', (_, step) => {
    const source = `local s,t=string.rep(' ',2e5),{} for i=1,999 do t[i]=i end ${step.repeat(1000)}`;
    expect(evaluate(source)).toMatch(/^-ERR Script ended: it has run for 60 seconds/);
  });

  test('can be killed while its result is written', () => {
    const { scripts } = lane.lane.server;
    scripts.meanwhile = () => scripts.board.kill();
    expect(evaluate('local t={} t[1]=t t[2]=t return t')).toMatch(/^-ERR Script killed by user/);
    expect(session.call('PING')).toBe('+PONG\r\n');
  });

  test('can be killed once it is slow, if it has not written', () => {
    const { scripts } = lane.lane.server;
    let looks = 0;
    scripts.meanwhile = () => {
      looks++;
      expect(scripts.board.kill()).toEqual({ killed: 1, unkillable: 0 });
    };
    expect(session.call('SCRIPT', 'KILL')).toMatch(/^-NOTBUSY/);
    expect(evaluate(CAUGHT)).toBe(
      `-ERR Script killed by user with SCRIPT KILL... script: ${digestOf(CAUGHT)}, on @user_script:1.\r\n`,
    );
    expect(looks).toBe(1);
    expect(session.call('SCRIPT', 'KILL')).toMatch(/^-NOTBUSY/);
    expect(evaluate('return 1')).toBe(':1\r\n');
  });

  test('cannot be killed after it has written, or while it is about to', () => {
    const { scripts } = lane.lane.server;
    const replies: unknown[] = [];
    scripts.meanwhile = () => replies.push(scripts.board.kill());
    expect(evaluate(AFTER_WRITING)).toMatch(/^-ERR Script ended/);
    expect(replies[0]).toEqual({ killed: 0, unkillable: 1 });
    const source = "for i=1,1e5 do end redis.call('incr','b')";
    scripts.meanwhile = () => scripts.board.kill();
    expect(evaluate(source)).toMatch(/^-ERR Script killed/);
    expect(session.call('EXISTS', 'b')).toBe(':0\r\n');
  });

  test('is slow after busy-reply-threshold, which has an older name', () => {
    let slowAfterMs = 0;
    lane.lane.server.scripts.meanwhile = () => {
      slowAfterMs ||= lane.clock.nowMs;
    };
    expect(session.call('CONFIG', 'SET', 'lua-time-limit', '20000')).toBe('+OK\r\n');
    expect(session.call('CONFIG', 'GET', 'busy-reply-threshold')).toContain('20000');
    const startedAtMs = lane.clock.nowMs;
    evaluate(ENDLESS);
    expect(slowAfterMs - startedAtMs).toBeGreaterThanOrEqual(20_000);
    expect(slowAfterMs - startedAtMs).toBeLessThan(30_000);
  });
});

describe('a user', () => {
  function logIn(roles: readonly Role[], prefixes: readonly string[]): TestSession {
    const record: UserRecord = { name: 'u', passwords: ['unused'], tokens: [], roles, prefixes };
    lane = new TestLane({ users: new Map([['u', record]]) });
    const opened = lane.open();
    opened.client.become(lane.lane.server.access.find('u'));
    return opened;
  }

  test('with a prefix reaches no other key, by any command', () => {
    session = logIn(['read', 'write', 'quota'], ['mine:']);
    expect(evaluate("return redis.call('incr',KEYS[1])", 1, 'mine:a')).toBe(':1\r\n');
    expect(session.call('EVAL', 'return 1', 1, 'other')).toMatch(/^-NOPERM this user has no permissions to access/);
    const refused = /^-ERR The user executing the script can't (run this command|access at least one)/;
    for (const call of [
      "'get','other'",
      "'set','other','1'",
      "'incr','other'",
      "'mget','mine:a','other'",
      "'mset','mine:a','1','other','2'",
      "'del','other'",
      "'exists','mine:a','other'",
      "'rate.limit','other','10','1000'",
      "'window.incrby','other','1000','1'",
      "'flushall'",
      "'dbsize'",
      "'increx','other'",
      "'object','encoding','other'",
    ]) {
      expect([call, evaluate(`return redis.call(${call})`)]).toEqual([call, expect.stringMatching(refused)]);
    }
    expect(evaluate("return redis.call('keys','*')")).toBe('*1\r\n$6\r\nmine:a\r\n');
    expect(evaluate("return redis.call('scan','0')[2]")).toBe('*1\r\n$6\r\nmine:a\r\n');
  });

  test('without the role write changes nothing, and without a login runs nothing', () => {
    session = logIn(['read'], []);
    expect(evaluate("return redis.call('set','a','1')")).toMatch(/^-ERR The user executing the script can't run/);
    expect(evaluate("return redis.call('get','a')")).toBe('$-1\r\n');
    expect(session.call('SCRIPT', 'FLUSH')).toMatch(/^-NOPERM/);
    expect(session.call('SCRIPT', 'KILL')).toMatch(/^-NOPERM/);
    expect(lane.open().call('EVAL', 'return 1', 0)).toMatch(/^-NOAUTH/);
  });
});
