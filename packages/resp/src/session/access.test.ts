import type { Role, UserRecord, Users } from '@quotadb/config';
import {
  ConfigurationError,
  createToken,
  defaultConfiguration,
  hashPassword,
  loadConfiguration,
} from '@quotadb/config';
import { beforeAll, describe, expect, test } from 'vitest';
import { findUnknownCommands } from '../command-table/taken-commands.js';
import { replaceUsers } from '../questions/replace-users.js';
import { TestLane } from '../testing/index.js';

const NOPERM = '-NOPERM this user has no permissions to';

function user(name: string, roles: readonly Role[], prefixes: readonly string[] = []): UserRecord {
  return { name, roles, prefixes, passwords: ['unused'], tokens: [] };
}

function usersOf(...records: UserRecord[]): Users {
  return new Map(records.map((record) => [record.name, record]));
}

const everybody = usersOf(
  user('reader', ['read']),
  user('writer', ['write']),
  user('quota', ['quota']),
  user('both', ['read', 'write'], ['app:', 'other:']),
  user('admin', ['admin']),
);

/** A session that has logged in, however that was done. */
function as(name: string, lane = new TestLane({ users: everybody })) {
  const session = lane.open();
  session.client.become(lane.lane.server.access.find(name));
  return session;
}

describe('a role', () => {
  test('read lets read, and nothing else', () => {
    const session = as('reader');
    expect(session.call('GET', 'a')).toBe('$-1\r\n');
    expect(session.call('INCR', 'a')).toBe(`${NOPERM} run the 'incr' command\r\n`);
    expect(session.call('CONFIG', 'GET', '*')).toBe(`${NOPERM} run the 'config|get' command\r\n`);
    expect(session.call('PING')).toBe('+PONG\r\n');
  });

  test('write lets write, and nothing else', () => {
    const session = as('writer');
    expect(session.call('INCR', 'a')).toBe(':1\r\n');
    expect(session.call('GET', 'a')).toBe(`${NOPERM} run the 'get' command\r\n`);
  });

  test('write alone does not let read: commands that return the value from before need both roles', () => {
    const lane = new TestLane({ users: everybody });
    const [writer, reader, both] = [as('writer', lane), as('reader', lane), as('both', lane)];
    for (const words of [
      ['GETSET', 'app:a', 1],
      ['GETDEL', 'app:a'],
      ['GETEX', 'app:a'],
      ['GETEX', 'app:a', 'EX', 10],
      ['SET', 'app:a', 1, 'GET'],
      ['set', 'app:a', 1, 'NX', 'get'],
    ]) {
      expect(writer.call(...words)).toMatch(/^-NOPERM this user has no permissions to run/);
      expect(reader.call(...words)).toMatch(/^-NOPERM this user has no permissions to run/);
      expect(both.call(...words)).not.toMatch(/^-/);
    }
    expect(writer.call('SET', 'app:a', 1, 'EX', 10)).toBe('+OK\r\n');
    expect(writer.call('SET', 'app:a', 1, 'GIT')).toBe('-ERR syntax error\r\n');
    writer.send('MULTI\r\n');
    expect(writer.call('SET', 'app:a', 1, 'GET')).toMatch(/^-NOPERM/);
    writer.send('DISCARD\r\n');
    // An increment answers with the value that it made, as counting needs.
    expect(writer.call('INCRBY', 'app:a', 0)).toBe(':1\r\n');
  });

  test('write alone lets run no command that returns a value, except increments', () => {
    const { entries } = new TestLane().lane.server.commands;
    for (const { command, fullName, needs } of entries) {
      if (!/return/i.test(command.summary) || !/value|counter/i.test(command.summary) || (needs & 255) !== 37) continue;
      expect(fullName).toMatch(/incr|decr/);
    }
  });

  test.each(['quota', 'writer'])('%s lets count against rate limits', (name) => {
    const session = as(name);
    expect(session.call('RATE.LIMIT', 'a', 10, 1000)).toMatch(/^\*5\r\n:1/);
    expect(session.call('RATE.ADD', 'a', 10, 1000)).toMatch(/^\*5\r\n:1/);
    expect(session.call('RATE.LIMITALL', 1, 'a', 10, 1000)).toMatch(/^\*2\r\n:1/);
    expect(session.call('RATE.GCRA', 'a', 1, 1, 1000)).toMatch(/^\*5\r\n:1/);
  });

  test.each(['quota', 'reader'])('%s lets look at rate limits', (name) => {
    const session = as(name);
    expect(session.call('RATE.PEEK', 'a', 10, 1000)).toMatch(/^\*5\r\n:1/);
    expect(session.call('RATE.CELLS', 'a', 1000)).toMatch(/^\*5\r\n/);
  });

  test('quota lets neither read nor change counters', () => {
    const session = as('quota');
    for (const words of [
      ['GET', 'a'],
      ['INCR', 'a'],
      ['WINDOW.INCRBY', 'a', 1000, 1],
      ['WINDOW.GET', 'a', 1000],
    ])
      expect(session.call(...words)).toMatch(/^-NOPERM/);
  });

  test('read does not let count against rate limits, nor write look at them', () => {
    expect(as('reader').call('RATE.LIMIT', 'a', 10, 1000)).toMatch(/^-NOPERM/);
    expect(as('writer').call('RATE.PEEK', 'a', 10, 1000)).toMatch(/^-NOPERM/);
  });

  test.each(['FLUSHALL', 'FLUSHDB', 'DEBUG SLEEP 0', 'CONFIG SET timeout 1', 'CLIENT LIST', 'BGSAVE', 'ACL LIST'])(
    '%s is for an admin alone',
    (line) => {
      for (const name of ['reader', 'writer', 'quota', 'both']) {
        expect(as(name).send(`${line}\r\n`)).toMatch(/^-NOPERM this user has no permissions to run the/);
      }
      expect(as('admin').send(`${line}\r\n`)).not.toMatch(/^-NOPERM/);
    },
  );

  test('an admin may do everything', () => {
    const session = as('admin');
    expect(session.call('INCR', 'a')).toBe(':1\r\n');
    expect(session.call('GET', 'a')).toBe('$1\r\n1\r\n');
    expect(session.call('FLUSHALL')).toBe('+OK\r\n');
  });

  test('every command that changes or shows the server asks for the role admin', () => {
    const { entries } = new TestLane().lane.server.commands;
    for (const { command, fullName, needs } of entries) {
      if (command.flags.includes('admin')) expect([fullName, needs & 255]).toEqual([fullName, 17]);
      if (command.flags.includes('write')) expect([fullName, needs & 92]).not.toEqual([fullName, 0]);
    }
  });
});

describe('commands that are taken from a user by name', () => {
  const careful = { ...user('careful', ['read', 'admin']), without: ['keys', 'client|list', 'debug', 'info'] };

  test('are refused, also as subcommands and inside MULTI; all others are as the roles say', () => {
    const session = as('careful', new TestLane({ users: usersOf(careful) }));
    for (const line of ['KEYS *', 'CLIENT LIST', 'DEBUG SLEEP 0', 'INFO', 'info all']) {
      expect(session.send(`${line}\r\n`)).toMatch(/^-NOPERM this user has no permissions to run the/);
    }
    for (const line of ['SCAN 0', 'CLIENT ID', 'CONFIG GET timeout', 'GET a', 'PING']) {
      expect(session.send(`${line}\r\n`)).not.toMatch(/^-/);
    }
    session.send('MULTI\r\n');
    expect(session.send('INFO\r\n')).toMatch(/^-NOPERM/);
    session.send('DISCARD\r\n');
    expect(session.call('ACL', 'LIST')).toContain('+@all -keys -client|list -debug -info');
  });

  test('must be commands: a mistyped name would take nothing', () => {
    const mistaken = { ...user('x', ['read']), without: ['keys', 'keyz', 'client|lst', 'client|list', 'window.get'] };
    expect(findUnknownCommands(usersOf(careful, mistaken))).toEqual([
      'user "x": "keyz" in "without" is no command',
      'user "x": "client|lst" in "without" is no command',
    ]);
  });
});

describe('a key prefix', () => {
  test('lets touch the keys that begin with it, and no others', () => {
    const session = as('both');
    expect(session.call('INCR', 'app:a')).toBe(':1\r\n');
    expect(session.call('INCR', 'other:a')).toBe(':1\r\n');
    for (const key of ['app', 'xapp:a', 'b', '']) {
      expect(session.call('INCR', key)).toBe(`${NOPERM} access one of the keys used as arguments\r\n`);
    }
  });

  test('holds for the keys of rate limits', () => {
    const users = usersOf(user('limited', ['quota'], ['app:']));
    const session = as('limited', new TestLane({ users }));
    expect(session.call('RATE.LIMIT', 'app:a', 10, 1000)).toMatch(/^\*5/);
    expect(session.call('RATE.LIMIT', 'a', 10, 1000)).toMatch(/^-NOPERM .* keys/);
    expect(session.call('RATE.LIMITALL', 1, 'app:a', 10, 1000, 'b', 10, 1000)).toMatch(/^-NOPERM .* keys/);
  });

  test('holds for every key of a command with several', () => {
    const session = as('both');
    expect(session.call('MGET', 'app:a', 'other:a')).toBe('*2\r\n$-1\r\n$-1\r\n');
    expect(session.call('MGET', 'app:a', 'b')).toMatch(/^-NOPERM .* keys/);
    expect(session.call('MSET', 'app:a', 1, 'app', 2)).toMatch(/^-NOPERM .* keys/);
    expect(session.call('MSET', 'app:a', 1, 'app:b', 2)).toBe('+OK\r\n');
    expect(session.call('MEMORY', 'USAGE', 'b')).toMatch(/^-NOPERM .* keys/);
  });

  test('hides other keys from SCAN and KEYS, and refuses commands that cannot leave them out', () => {
    const lane = new TestLane({ users: everybody });
    as('admin', lane).call('MSET', 'app:a', 1, 'secret', 2);
    const session = as('both', lane);
    expect(session.call('KEYS', '*')).toBe('*1\r\n$5\r\napp:a\r\n');
    expect(session.call('SCAN', 0, 'COUNT', 1000)).toBe('*2\r\n$1\r\n0\r\n*1\r\n$5\r\napp:a\r\n');
    expect(session.call('RANDOMKEY')).toMatch(/^-NOPERM .* keys/);
    expect(session.call('DBSIZE')).toMatch(/^-NOPERM .* keys/);
  });
});

describe('a transaction', () => {
  test('is refused for a command that is not permitted', () => {
    const session = as('reader');
    session.call('MULTI');
    expect(session.call('INCR', 'a')).toMatch(/^-NOPERM/);
    expect(session.call('EXEC')).toMatch(/^-EXECABORT/);
  });

  test('does not run commands that were permitted when they were queued and are not any more', () => {
    const lane = new TestLane({ users: everybody });
    const session = as('writer', lane);
    session.call('MULTI');
    session.call('INCR', 'a');
    replaceUsers(lane.lane.server, usersOf(user('writer', ['read'])));
    expect(session.call('EXEC')).toMatch(/^\*1\r\n-NOPERM ACLs rules changed/);
  });
});

describe('other users', () => {
  test('change the permissions of connected clients at once', () => {
    const lane = new TestLane({ users: everybody });
    const session = as('reader', lane);
    replaceUsers(lane.lane.server, usersOf(user('reader', ['write'])));
    expect(session.call('INCR', 'a')).toBe(':1\r\n');
    expect(session.call('GET', 'a')).toMatch(/^-NOPERM/);
  });

  test('close the connections of users that are gone or have other passwords', () => {
    const lane = new TestLane({ users: everybody });
    const [gone, changed] = [as('reader', lane), as('writer', lane)];
    replaceUsers(lane.lane.server, usersOf({ ...user('writer', ['write']), passwords: ['another'] }));
    expect([gone.destroyed, changed.destroyed]).toEqual([true, true]);
  });

  test('close the connections that needed none before', () => {
    const lane = new TestLane();
    const session = lane.open();
    expect(session.call('PING')).toBe('+PONG\r\n');
    replaceUsers(lane.lane.server, everybody);
    expect(session.destroyed).toBe(true);
    expect(lane.open().call('PING')).toBe('-NOAUTH Authentication required.\r\n');
  });
});

describe('ACL', () => {
  test('WHOAMI, USERS, LIST and GETUSER show the users, and no hash', () => {
    const lane = new TestLane({ users: everybody, password: 'x' });
    const session = as('admin', lane);
    expect(session.call('ACL', 'WHOAMI')).toBe('$5\r\nadmin\r\n');
    expect(session.call('ACL', 'USERS')).toMatch(/^\*6\r\n\$7\r\ndefault\r\n/);
    const list = session.call('ACL', 'LIST');
    expect(list).toContain('user default on #plain ~* &* +@all');
    expect(list).toContain('user both on #scrypt ~app:* ~other:* resetchannels -@all +@connection +@read +@write');
    expect(list).not.toContain('unused');
    expect(session.call('ACL', 'GETUSER', 'reader')).toContain('-@all +@connection +@read');
    expect(session.call('ACL', 'GETUSER', 'stranger')).toBe('$-1\r\n');
  });

  test('CAT lists categories and their commands', () => {
    const session = as('reader');
    expect(session.call('ACL', 'CAT')).toContain('dangerous');
    expect(session.call('ACL', 'CAT', 'dangerous')).toContain('flushall');
    expect(session.call('ACL', 'CAT', 'nothing')).toBe("-ERR Unknown category 'nothing'\r\n");
  });

  test('GENPASS makes passwords of the length asked for', () => {
    const session = as('reader');
    expect(session.call('ACL', 'GENPASS')).toMatch(/^\$64\r\n[0-9a-f]{64}\r\n$/);
    expect(session.call('ACL', 'GENPASS', 5)).toMatch(/^\$2\r\n/);
    expect(session.call('ACL', 'GENPASS', 0)).toMatch(/^-ERR ACL GENPASS/);
  });

  test('the default user of a server with users and no password is off', () => {
    const session = as('admin');
    expect(session.call('ACL', 'GETUSER', 'default')).toContain('+off');
    expect(session.call('ACL', 'LIST')).toContain('user default off');
  });
});

describe('the configuration of users', () => {
  let password: string;
  const { hash: token } = createToken();
  beforeAll(async () => {
    password = await hashPassword(Buffer.from('secret'));
  });

  function mistakes(users: unknown): string {
    try {
      loadConfiguration({ flags: {}, environment: {}, file: { path: 'q.json', text: JSON.stringify({ users }) } });
      return '';
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return error.message;
    }
  }

  test('comes from the file as an object and from the environment as JSON', () => {
    const users = { web: { roles: ['write'], prefixes: ['w:'], passwords: [password], tokens: [token] } };
    const file = { path: 'q.json', text: JSON.stringify({ users }) };
    const fromFile = loadConfiguration({ flags: {}, environment: {}, file });
    const fromText = loadConfiguration({ flags: {}, environment: { QUOTADB_USERS: JSON.stringify(users) } });
    expect(fromFile.users.get('web')).toEqual({ name: 'web', without: [], ...users.web });
    expect(fromText.users).toEqual(fromFile.users);
    expect(defaultConfiguration().users.size).toBe(0);
  });

  test.each([
    [[], /must be an object/],
    [{ a: 1 }, /user "a": must be an object/],
    [{ a: {} }, /needs roles.*needs passwords or tokens/],
    [{ 'a b': { roles: ['read'] } }, /a name is/],
    [{ a: { roles: ['king'] } }, /"king" is no role/],
    [{ a: { roles: 'read' } }, /"roles" must be a list/],
    [{ a: { roles: ['read'], passwords: ['hunter2'] } }, /a password must be hashed/],
    [{ a: { roles: ['read'], tokens: ['hunter2'] } }, /a token must be hashed/],
    [{ a: { roles: ['read'], secret: 'x' } }, /has no "secret"/],
    [{ a: { roles: ['admin'], prefixes: ['x'] } }, /an admin has all keys/],
    [{ a: { roles: ['read'], prefixes: [''] } }, /a prefix cannot be empty/],
    [
      { a: { roles: ['read'], passwords: ['scrypt:1073741824:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA'] } },
      /hashed/,
    ],
  ])('%j is refused, with the reason', (users, reason) => {
    expect(mistakes(users)).toMatch(reason);
  });

  test('a mistake never repeats a secret', () => {
    expect(mistakes({ a: { roles: ['read'], passwords: ['hunter2'], tokens: ['hunter2'] } })).not.toContain('hunter2');
  });

  test('a public address is allowed with users, and refused without credentials', () => {
    const users = JSON.stringify({ web: { roles: ['write'], passwords: [password] } });
    const flags = { host: '0.0.0.0' };
    expect(() => loadConfiguration({ flags, environment: {} })).toThrow(/can be reached from other machines/);
    expect(loadConfiguration({ flags: { ...flags, users }, environment: {} }).host).toBe('0.0.0.0');
  });

  test('--password and a user "default" are one too many', () => {
    const users = JSON.stringify({ default: { roles: ['read'], passwords: [password] } });
    expect(() => loadConfiguration({ flags: { users, password: 'x' }, environment: {} })).toThrow(/choose one/);
  });
});
