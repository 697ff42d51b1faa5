import { beforeEach, describe, expect, test } from 'vitest';
import { TestLane, type TestSession } from '../../testing/index.js';

let lane: TestLane;
let session: TestSession;
beforeEach(() => {
  lane = new TestLane();
  session = lane.open();
});

describe('HELLO', () => {
  test('switches to RESP3 and back, and the replies follow', () => {
    expect(session.call('HELLO', 3)).toMatch(/^%7\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n/);
    expect(session.call('GET', 'none')).toBe('_\r\n');
    expect(session.call('HELLO')).toMatch(/^%7\r\n/);
    expect(session.call('HELLO', 2)).toMatch(/^\*14\r\n/);
    expect(session.call('GET', 'none')).toBe('$-1\r\n');
  });

  test('each connection has its own protocol', () => {
    session.call('HELLO', 3);
    const other = lane.open();
    expect(other.call('GET', 'none')).toBe('$-1\r\n');
    expect(session.call('GET', 'none')).toBe('_\r\n');
  });

  test('names the connection', () => {
    session.call('HELLO', 3, 'SETNAME', 'worker');
    expect(session.call('CLIENT', 'GETNAME')).toBe('$6\r\nworker\r\n');
  });

  test('refuses unknown options, and changes nothing then', () => {
    expect(session.call('HELLO', 4)).toBe('-NOPROTO unsupported protocol version\r\n');
    expect(session.call('HELLO', 'x')).toBe('-ERR Protocol version is not an integer or out of range\r\n');
    expect(session.call('HELLO', 3, 'FOO')).toBe("-ERR Syntax error in HELLO option 'FOO'\r\n");
    expect(session.call('HELLO', 3, 'AUTH', 'default')).toBe("-ERR Syntax error in HELLO option 'AUTH'\r\n");
    expect(session.call('HELLO', 3, 'SETNAME', 'a b')).toMatch(/^-ERR Client names cannot contain spaces/);
    expect(session.call('GET', 'none')).toBe('$-1\r\n');
  });
});

describe('with a password', () => {
  beforeEach(() => {
    lane = new TestLane({ password: 'secret' });
    session = lane.open();
  });

  test('nothing but AUTH, HELLO, QUIT and RESET is served before it is given', () => {
    expect(session.call('INCR', 'a')).toBe('-NOAUTH Authentication required.\r\n');
    expect(session.call('PING')).toBe('-NOAUTH Authentication required.\r\n');
    expect(session.call('HELLO', 3)).toMatch(/^-NOAUTH HELLO must be called with the client already authenticated/);
    expect(session.call('MULTI')).toBe('-NOAUTH Authentication required.\r\n');
    expect(session.call('RESET')).toBe('+RESET\r\n');
    expect(session.call('QUIT')).toBe('+OK\r\n');
  });

  test.each([['AUTH secret'], ['AUTH default secret'], ['HELLO 2 AUTH default secret']])('%s logs in', (line) => {
    expect(session.send(`${line}\r\n`)).not.toMatch(/^-/);
    expect(session.call('INCR', 'a')).toBe(':1\r\n');
    expect(session.call('RESET')).toBe('+RESET\r\n');
    expect(session.call('INCR', 'a')).toBe('-NOAUTH Authentication required.\r\n');
  });

  test.each([['AUTH wrong'], ['AUTH secre'], ['AUTH secrets'], ['AUTH other secret'], ['HELLO 3 AUTH default wrong']])(
    '%s does not',
    (line) => {
      expect(session.send(`${line}\r\n`)).toBe('-WRONGPASS invalid username-password pair or user is disabled.\r\n');
      expect(session.call('INCR', 'a')).toBe('-NOAUTH Authentication required.\r\n');
    },
  );

  test('a stranger may not send large commands', () => {
    expect(session.send('*11\r\n')).toBe('-ERR Protocol error: unauthenticated multibulk length\r\n');
    const friend = lane.open();
    friend.call('AUTH', 'secret');
    expect(friend.send('*11\r\n')).toBe('');
  });

  test('AUTH in a pipeline lifts the limit for the command right behind it', () => {
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    expect(
      session.send(
        `AUTH secret\r\n*21\r\n$6\r\nEXISTS\r\n${keys.map((key) => `$${key.length}\r\n${key}\r\n`).join('')}`,
      ),
    ).toBe('+OK\r\n:0\r\n');
  });

  test('removing the password lets every client in', () => {
    const admin = lane.open();
    admin.call('AUTH', 'secret');
    expect(admin.call('CONFIG', 'SET', 'requirepass', '')).toBe('+OK\r\n');
    expect(session.call('INCR', 'a')).toBe(':1\r\n');
  });
});

test('without a password AUTH says that there is none', () => {
  expect(session.call('AUTH', 'x')).toMatch(/^-ERR AUTH <password> called without any password configured/);
  expect(session.call('AUTH', 'default', 'x')).toBe('+OK\r\n');
  expect(session.call('AUTH', 'other', 'x')).toMatch(/^-WRONGPASS/);
});

describe('CLIENT REPLY', () => {
  test('OFF silences everything, errors too, until ON', () => {
    expect(session.send('CLIENT REPLY OFF\r\nPING\r\nnonsense\r\nMULTI\r\nINCR a\r\nEXEC\r\n')).toBe('');
    expect(session.send('CLIENT REPLY SKIP\r\nPING\r\nPING\r\n')).toBe('');
    expect(session.send('CLIENT REPLY ON\r\nGET a\r\n')).toBe('+OK\r\n$1\r\n1\r\n');
  });

  test('SKIP silences one command', () => {
    expect(session.send('CLIENT REPLY SKIP\r\nINCR a\r\nINCR a\r\n')).toBe(':2\r\n');
    expect(session.send('CLIENT REPLY SKIP\r\n')).toBe('');
    expect(session.send('INCR a\r\n')).toBe('');
    expect(session.send('INCR a\r\n')).toBe(':4\r\n');
  });

  test('SKIP silences a command that waits', () => {
    expect(session.send('CLIENT REPLY SKIP\r\nDEBUG SLEEP 1\r\nPING\r\n')).toBe('');
    expect(session.resume()).toBe('+PONG\r\n');
  });

  test('refuses other words', () => {
    expect(session.call('CLIENT', 'REPLY', 'MAYBE')).toBe('-ERR syntax error\r\n');
  });
});

describe('CLIENT LIST and KILL', () => {
  test('a line for each connection, with its state', () => {
    const other = lane.open();
    other.call('CLIENT', 'SETNAME', 'other');
    other.call('CLIENT', 'SETINFO', 'LIB-NAME', 'library');
    other.call('CLIENT', 'SETINFO', 'lib-ver', '1.2.3');
    other.send('MULTI\r\nINCR a\r\n');
    lane.clock.advance(5000);
    const list = session.call('CLIENT', 'LIST');
    expect(list).toMatch(/id=1 addr=192\.0\.2\.1:1000 .* age=5 idle=0 flags=N .* cmd=client\|list .* resp=2/);
    expect(list).toMatch(
      /id=2 .* name=other age=5 idle=5 flags=x .* multi=1 .* cmd=incr .* lib-name=library lib-ver=1\.2\.3\n/,
    );
    expect(session.call('CLIENT', 'LIST', 'ID', 2, 7)).toMatch(/^\$\d+\r\nid=2 [^\n]*\n\r\n$/);
    expect(session.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).toBe('$0\r\n\r\n');
    expect(session.call('CLIENT', 'INFO')).toMatch(/id=1 /);
  });

  test('the old form kills by address, the caller too', () => {
    const other = lane.open();
    expect(session.call('CLIENT', 'KILL', other.client.address)).toBe('+OK\r\n');
    expect(other.destroyed).toBe(true);
    expect(session.call('CLIENT', 'KILL', '192.0.2.9:1')).toBe('-ERR No such client\r\n');
    expect(session.call('CLIENT', 'KILL', session.client.address)).toBe('+OK\r\n');
    expect(session.client.closing).toBe(true);
  });

  test('the new form kills by all of its filters, and spares the caller', () => {
    const [second, third] = [lane.open(), lane.open()];
    lane.clock.advance(10_000);
    const fourth = lane.open();
    expect(session.call('CLIENT', 'KILL', 'ID', second.client.id, 'ADDR', third.client.address)).toBe(':0\r\n');
    expect(session.call('CLIENT', 'KILL', 'ID', second.client.id)).toBe(':1\r\n');
    expect(session.call('CLIENT', 'KILL', 'MAXAGE', 10)).toBe(':1\r\n');
    expect([second.destroyed, third.destroyed, fourth.destroyed]).toEqual([true, true, false]);
    expect(session.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no', 'USER', 'default')).toBe(':2\r\n');
    expect(fourth.destroyed).toBe(true);
    expect(session.client.closing).toBe(true);
  });
});

test('names hold no spaces or line ends, so that they cannot forge lines of CLIENT LIST', () => {
  expect(session.call('CLIENT', 'SETNAME', 'a\nid=9')).toMatch(/^-ERR Client names cannot contain spaces/);
  expect(session.call('CLIENT', 'SETINFO', 'lib-name', 'a b')).toMatch(/^-ERR lib-name cannot contain spaces/);
  for (const words of [
    ['CLIENT', 'SETNAME'],
    ['CLIENT', 'SETINFO', 'lib-name'],
    ['CLIENT', 'SETINFO', 'lib-ver'],
    ['HELLO', 2, 'SETNAME'],
  ]) {
    expect(session.call(...words, 'x'.repeat(257))).toMatch(/^-ERR .*256 bytes at most, this one has 257/);
    expect(session.call(...words, 'x'.repeat(256))).not.toMatch(/^-/);
  }
  expect(session.call('CLIENT', 'SETINFO', 'lib-foo', 'a')).toBe("-ERR Unrecognized option 'lib-foo'\r\n");
});
