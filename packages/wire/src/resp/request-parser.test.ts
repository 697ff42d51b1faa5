import { ByteInput } from '@quotadb/engine';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeCommand, TestConnection } from '../testing/connection.js';
import { ParseResult, RequestParser } from './request-parser.js';

const LINE_LIMIT = RequestParser.MAXIMUM_LINE_BYTES;
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const newParser = () => new RequestParser({ maximumBulkBytes: 1024 * 1024 });

function receive(pieces: readonly (string | Uint8Array)[], parser = newParser()): TestConnection {
  const connection = new TestConnection(parser);
  for (const piece of pieces) connection.receive(typeof piece === 'string' ? latin1(piece) : piece);
  return connection;
}

function words(connection: TestConnection): string[][] {
  return connection.commands.map((command) => command.map((part) => Buffer.from(part).toString('latin1')));
}

function inPieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

/** Reads every command of a random stream of whole and broken ones, and says what came out. */
const outcome = (connection: TestConnection) => ({ commands: words(connection), failure: connection.failure });

describe('complete commands', () => {
  test('arguments are offsets into the input, nothing is copied', () => {
    const parser = newParser();
    const input = ByteInput.copyOf(latin1('*2\r\n$4\r\nINCR\r\n$4\r\nhits\r\n'));
    expect(parser.next(input, 0, 24)).toBe(ParseResult.Complete);
    expect(parser.input).toBe(input);
    expect(parser.argumentCount).toBe(2);
    expect([...parser.argumentStart.subarray(0, 2)]).toEqual([8, 18]);
    expect([...parser.argumentLength.subarray(0, 2)]).toEqual([4, 4]);
    expect(parser.position).toBe(24);
  });

  test('a pipeline is read command by command', () => {
    const connection = receive(['*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING x\r\n*1\r\n$4\r\nPING\r\n']);
    expect(words(connection)).toEqual([['PING'], ['GET', 'a'], ['PING', 'x'], ['PING']]);
    expect(connection.rest.length).toBe(0);
  });

  test('bytes behind the end are not looked at', () => {
    const parser = newParser();
    const whole = latin1('*2\r\n$4\r\nINCR\r\n$10\r\n0123456789\r\n');
    const input = ByteInput.copyOf(whole);
    for (let end = 0; end < whole.length; end++) expect(parser.next(input, 0, end)).toBe(ParseResult.Incomplete);
    expect(parser.next(input, 0, whole.length)).toBe(ParseResult.Complete);
  });

  test('commands without arguments and lines without words are skipped', () => {
    const connection = receive(['*0\r\n*-1\r\n\r\n\n  \t \r\n*-9223372036854775808\r\n*1\r\n$4\r\nPING\r\n*0\r\n\r\n']);
    expect(words(connection)).toEqual([['PING']]);
    expect(connection.failure).toBeUndefined();
    expect(connection.rest.length).toBe(0);
  });

  test('lengths of every number of digits', () => {
    for (const length of [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12345, 100_000, 1024 * 1024]) {
      const value = 'v'.repeat(length);
      expect(words(receive([encodeCommand(['SET', value])]))).toEqual([['SET', value]]);
    }
  });

  test('a short length behind a long one', () => {
    const parts = [12345, 1000, 100, 99, 1000, 7, 0].map((length) => 'v'.repeat(length));
    expect(words(receive([encodeCommand(parts)]))).toEqual([parts]);
  });

  test('more arguments than the offsets had room for', () => {
    for (const count of [9, 10, 63, 64, 65, 128, 129, 1000, 5000]) {
      const parts = Array.from({ length: count }, (_, index) => `key:${index}`);
      expect(words(receive([encodeCommand(parts)]))).toEqual([parts]);
    }
  });

  test('as in Redis, what stands where CR LF should is not looked at', () => {
    expect(words(receive(['*1\rx$4\ryPINGzz*1\r\n$4\r\nPONG\r\n']))).toEqual([['PING'], ['PONG']]);
  });

  test('random commands come out byte for byte', () => {
    const command = fc.array(fc.uint8Array({ maxLength: 150 }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 5 }), (commands) => {
        const connection = receive([Buffer.concat(commands.map(encodeCommand))]);
        expect(connection.commands).toEqual(commands.map((parts) => parts.map((part) => new Uint8Array(part))));
      }),
    );
  });
});

describe('inline commands', () => {
  test.each<[line: string, ...expected: string[]]>([
    ['PING', 'PING'],
    ['  SET  a\t1 ', 'SET', 'a', '1'],
    ['SET "a b" \'c d\'', 'SET', 'a b', 'c d'],
    ['ECHO ""', 'ECHO', ''],
    ["ECHO ''", 'ECHO', ''],
    ['ECHO "\\x41\\xfF\\x00"', 'ECHO', 'A\xff\0'],
    ['ECHO "\\xZZ\\x4"', 'ECHO', 'xZZx4'],
    ['ECHO "\\n\\r\\t\\b\\a\\q\\"\\\\"', 'ECHO', '\n\r\t\b\x07q"\\'],
    ["ECHO 'it\\'s \\n \"'", 'ECHO', 'it\'s \\n "'],
    ['ECHO a\\nb', 'ECHO', 'a\\nb'],
    ['ECHO foo"bar baz"', 'ECHO', 'foobar baz'],
    ['ECHO a\vb \vc', 'ECHO', 'a\vb', 'c'],
    ['ECHO a\rb', 'ECHO', 'a', 'b'],
    ['ECHO "a"\vb', 'ECHO', 'a', 'b'],
    ['ECHO a\0b', 'ECHO', 'a\0b'],
    ['"*1"', '*1'],
    ['\xff\xfe', '\xff\xfe'],
  ])('%j', (line, ...expected) => {
    for (const ending of ['\r\n', '\n']) expect(words(receive([line + ending]))).toEqual([expected]);
  });

  test.each(['"', "'", 'a "b', "a 'b", '"a"b', "'a'b", '"a\\"', "'a\\'", '"a\\', '"a""b"', '"\\x4'])(
    'unbalanced: %j',
    (line) => {
      expect(receive([`${line}\r\n`]).failure).toBe('Protocol error: unbalanced quotes in request');
    },
  );

  test('words leave room behind them for the engine to read whole words', () => {
    for (let length = 1; length < 2000; length += 7) {
      const parser = newParser();
      const input = ByteInput.copyOf(latin1(`${'k'.repeat(length)}\n`));
      expect(parser.next(input, 0, length + 1)).toBe(ParseResult.Complete);
      const end = parser.argumentStart[0] + parser.argumentLength[0];
      expect(parser.input.bytes.length - end).toBeGreaterThanOrEqual(ByteInput.SLACK_BYTES);
    }
  });

  test('a line of as many words as fit', () => {
    const parts = Array.from({ length: LINE_LIMIT / 2 }, () => 'w');
    expect(words(receive([`${parts.join(' ')}\n`]))).toEqual([parts]);
  });
});

describe('protocol errors', () => {
  const digits = (count: number) => '1'.repeat(count);
  const cases: [name: string, bytes: string, failure: string][] = [
    ['count too large', '*1048577\r\n', 'invalid multibulk length'],
    ['count past int32', '*2147483648\r\n', 'invalid multibulk length'],
    ['count past int64', '*9223372036854775808\r\n', 'invalid multibulk length'],
    ['count far below', '*-9223372036854775809\r\n', 'invalid multibulk length'],
    ['no count', '*\r\n', 'invalid multibulk length'],
    ['count with a leading zero', '*01\r\n', 'invalid multibulk length'],
    ['count with a plus', '*+1\r\n', 'invalid multibulk length'],
    ['count of minus zero', '*-0\r\n', 'invalid multibulk length'],
    ['count with blanks', '* 1\r\n', 'invalid multibulk length'],
    ['count in words', '*one\r\n', 'invalid multibulk length'],
    ['negative length', '*1\r\n$-1\r\n', 'invalid bulk length'],
    ['length too large', '*1\r\n$1048577\r\n', 'invalid bulk length'],
    ['length past int32', '*1\r\n$2147483648\r\n', 'invalid bulk length'],
    ['length past 2^32', '*1\r\n$4294967297\r\n', 'invalid bulk length'],
    ['length past int64', '*1\r\n$9223372036854775808\r\n', 'invalid bulk length'],
    ['no length', '*1\r\n$\r\n', 'invalid bulk length'],
    ['length with a leading zero', '*1\r\n$04\r\nPING\r\n', 'invalid bulk length'],
    ['length of two letters', '*1\r\n$1x\r\nPING\r\n', 'invalid bulk length'],
    ['length in words', '*1\r\n$four\r\n', 'invalid bulk length'],
    ['no dollar', '*1\r\n:4\r\nPING\r\n', "expected '$', got ':'"],
    ['no dollar at the second argument', '*2\r\n$3\r\nGET\r\nkey\r\n', "expected '$', got 'k'"],
    ['an empty line for a bulk', '*1\r\n\r\n', "expected '$', got '\r'"],
    ['an array in a command', '*1\r\n*1\r\n$4\r\nPING\r\n', "expected '$', got '*'"],
    ['endless inline', 'a'.repeat(LINE_LIMIT + 1), 'too big inline request'],
    ['overlong inline', `${'a'.repeat(LINE_LIMIT + 1)}\n`, 'too big inline request'],
    ['endless count', `*${digits(LINE_LIMIT)}`, 'too big mbulk count string'],
    ['overlong count', `*${digits(LINE_LIMIT)}\r\n`, 'too big mbulk count string'],
    ['endless length', `*1\r\n$${digits(LINE_LIMIT)}`, 'too big bulk count string'],
    ['overlong length', `*1\r\n$${digits(LINE_LIMIT)}\r\n`, 'too big bulk count string'],
    ['endless line for a bulk', `*1\r\n${'x'.repeat(LINE_LIMIT + 1)}`, 'too big bulk count string'],
    ['open quote', 'SET "a\r\n', 'unbalanced quotes in request'],
  ];

  test.each(cases)('%s', (_name, bytes, failure) => {
    expect(outcome(receive([bytes]))).toEqual({ commands: [], failure: `Protocol error: ${failure}` });
  });

  test.each(cases)('%s, however it is cut, behind a good command', (_name, bytes, failure) => {
    const stream = latin1(`PING\r\n${bytes}`);
    const expected = { commands: [['PING']], failure: `Protocol error: ${failure}` };
    const cuts = Math.min(stream.length, 100);
    for (let cut = 0; cut < cuts; cut++) {
      expect(outcome(receive([stream.subarray(0, cut), stream.subarray(cut)]))).toEqual(expected);
    }
    expect(outcome(receive(inPieces(stream, stream.length < 100 ? 1 : 1000)))).toEqual(expected);
  });

  test('the longest lines there may be', () => {
    const longest = 'a'.repeat(LINE_LIMIT);
    expect(words(receive([`${longest}\n`]))).toEqual([[longest]]);
    expect(receive([`*${digits(LINE_LIMIT - 1)}\r\n`]).failure).toBe('Protocol error: invalid multibulk length');
    expect(receive([longest]).failure).toBeUndefined();
    expect(receive([`*${digits(LINE_LIMIT - 1)}`]).failure).toBeUndefined();
    expect(receive([`*1\r\n$${digits(LINE_LIMIT - 1)}`]).failure).toBeUndefined();
  });

  test('the longest argument and the most arguments there may be', () => {
    const parser = new RequestParser({ maximumBulkBytes: 20, maximumArguments: 12 });
    const most = Array.from({ length: 12 }, () => 'x'.repeat(20));
    expect(words(receive([encodeCommand(most)], parser))).toEqual([most]);
    expect(receive([encodeCommand(['x'.repeat(21)])], parser).failure).toBe('Protocol error: invalid bulk length');
    expect(receive([encodeCommand([...most, 'x'])], parser).failure).toBe('Protocol error: invalid multibulk length');
    const narrow = new RequestParser({ maximumBulkBytes: 5, maximumArguments: 5 });
    expect(receive([encodeCommand(['123456'])], narrow).failure).toBe('Protocol error: invalid bulk length');
    expect(receive(['*6\r\n'], narrow).failure).toBe('Protocol error: invalid multibulk length');
  });

  test('before authentication a client may send small commands only', () => {
    const parser = newParser();
    parser.authenticated = false;
    const ten = Array.from({ length: 10 }, () => 'x'.repeat(16384));
    expect(words(receive([encodeCommand(ten)], parser))).toEqual([ten]);
    expect(receive(['*11\r\n'], parser).failure).toBe('Protocol error: unauthenticated multibulk length');
    expect(receive(['*1\r\n$16385\r\n'], parser).failure).toBe('Protocol error: unauthenticated bulk length');
    expect(receive(['*1048577\r\n'], parser).failure).toBe('Protocol error: invalid multibulk length');
    expect(receive(['*1\r\n$1048577\r\n'], parser).failure).toBe('Protocol error: invalid bulk length');
    parser.authenticated = true;
    expect(receive(['*11\r\n'], parser).failure).toBeUndefined();
  });
});

describe('bytes that arrive in pieces', () => {
  const pipeline = Buffer.concat([
    encodeCommand(['INCRBY', 'hits', '-9223372036854775808']),
    latin1('set "a\\x00b" \'c d\'\r\n\r\n*0\r\n'),
    encodeCommand([new Uint8Array([13, 10, 42, 36, 0, 255]), '']),
    encodeCommand(Array.from({ length: 40 }, (_, index) => 'v'.repeat(index))),
    latin1('PING\n'),
    encodeCommand(['MSET', 'x'.repeat(300), 'y'.repeat(1000)]),
  ]);

  test('cut anywhere, the same commands come out', () => {
    const expected = outcome(receive([pipeline]));
    expect(expected.commands.length).toBe(6);
    for (let cut = 0; cut <= pipeline.length; cut++) {
      expect(outcome(receive([pipeline.subarray(0, cut), pipeline.subarray(cut)]))).toEqual(expected);
    }
    for (const size of [1, 2, 3, 5, 7, 16, 64, 1000]) {
      expect(outcome(receive(inPieces(pipeline, size)))).toEqual(expected);
    }
  });

  test('one parser serves connections whose commands are all incomplete', () => {
    const parser = newParser();
    const expected = outcome(receive([pipeline]));
    const connections = Array.from({ length: 5 }, () => new TestConnection(parser));
    const sizes = [1, 3, 17, 100, 400];
    for (let turn = 0; turn < pipeline.length; turn++) {
      connections.forEach((connection, index) => {
        const size = sizes[index];
        if (turn * size < pipeline.length) connection.receive(pipeline.subarray(turn * size, (turn + 1) * size));
      });
    }
    for (const connection of connections) expect(outcome(connection)).toEqual(expected);
  });

  test('forgetting what was read of a command changes nothing but the work', () => {
    const expected = outcome(receive([pipeline]));
    const connection = new TestConnection(newParser());
    for (const piece of inPieces(pipeline, 11)) {
      connection.receive(piece);
      connection.partial = undefined;
    }
    expect(outcome(connection)).toEqual(expected);
  });

  test('a command of few arguments leaves nothing behind to be kept but its bytes', () => {
    const connection = receive([`*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n${'v'.repeat(100_000)}`]);
    expect(connection.partial).toBeUndefined();
    expect(connection.rest.length).toBeGreaterThan(100_000);
  });

  test('after Complete there is nothing to suspend', () => {
    const parser = newParser();
    const bytes = encodeCommand(Array.from({ length: 100 }, () => 'x'));
    expect(parser.next(ByteInput.copyOf(bytes), 0, bytes.length)).toBe(ParseResult.Complete);
    expect(parser.suspend()).toBeUndefined();
    expect(parser.argumentCount).toBe(100);
  });

  const giants: [name: string, bytes: Uint8Array][] = [
    ['many small arguments', encodeCommand(Array.from({ length: 20_000 }, (_, index) => String(index)))],
    ['many empty arguments', encodeCommand(Array.from({ length: 20_000 }, () => ''))],
    ['one huge argument', encodeCommand(['SET', 'k', 'v'.repeat(200_000)])],
    ['one long line', latin1(`${'word '.repeat(12_000)}\r\n`)],
    ['a number that does not end', latin1(`*${'0'.repeat(60_000)}`)],
  ];

  test.each(giants)('a giant command in small pieces is read once: %s', (_name, bytes) => {
    let looks = 0;
    const pieceBytes = 1024;
    const connection = new TestConnection(newParser());
    const input = new ByteInput(
      new Proxy(ByteInput.copyOf(bytes).bytes, {
        get(target, property) {
          if (typeof property === 'string' && /^\d/.test(property)) looks++;
          const value = Reflect.get(target, property, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    );
    for (let end = pieceBytes; end < bytes.length + pieceBytes; end += pieceBytes) {
      connection.read(input, 0, Math.min(end, bytes.length));
    }
    const pieces = Math.ceil(bytes.length / pieceBytes);
    // A byte may be looked at by the fast path, the search and the number; a cut costs a few lines read again.
    expect(looks).toBeLessThan(bytes.length * 4 + pieces * 256);
    if (bytes.at(-1) === 10) expect(connection.commands.length).toBe(1);
  });
});

describe('memory', () => {
  test('offsets of a giant command are given back when the next one starts', () => {
    const parser = newParser();
    const giant = encodeCommand(Array.from({ length: 100_000 }, () => 'x'));
    expect(receive([giant], parser).commands[0].length).toBe(100_000);
    expect(receive([giant.subarray(0, 300_000), giant.subarray(300_000)], parser).commands[0].length).toBe(100_000);
    receive(['PING\r\n'], parser);
    expect(parser.argumentStart.length).toBeLessThanOrEqual(RequestParser.KEPT_ARGUMENTS);
    expect(parser.argumentLength.length).toBeLessThanOrEqual(RequestParser.KEPT_ARGUMENTS);
  });

  test('a promise of many arguments takes no memory until they come', () => {
    const parser = newParser();
    const connection = receive(['*1048576\r\n$1\r\nx\r\n'], parser);
    expect(parser.argumentStart.length).toBe(64);
    expect(connection.partial).toBeUndefined();
  });

  test('a suspended command is taken from the parser, not shared with it', () => {
    const parser = newParser();
    const bytes = encodeCommand(Array.from({ length: 500 }, (_, index) => String(index)));
    const connection = receive([bytes.subarray(0, bytes.length - 1)], parser);
    expect(connection.partial).toBeDefined();
    expect(parser.argumentStart).not.toBe(connection.partial?.argumentStart);
    receive([encodeCommand(Array.from({ length: 600 }, () => 'other'))], parser);
    connection.receive(bytes.subarray(bytes.length - 1));
    expect(words(connection)).toEqual([Array.from({ length: 500 }, (_, index) => String(index))]);
  });

  /** Bytes that look like RESP often enough to get past the first line. */
  const token = fc.oneof(
    fc.constantFrom('*1\r\n', '*3\r\n', '$1\r\n', '$4\r\n', '\r\n', '*', '$', '"', "'", '\\x4', ' ', '\n', '-1', '0'),
    fc.nat(200).map((number) => `$${number}\r\n`),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.array(token, { maxLength: 60 }).map((tokens) => latin1(tokens.join(''))),
  );

  test('random bytes in random pieces never throw, never depend on the pieces, and keep memory in bounds', () => {
    const parser = newParser();
    fc.assert(
      fc.property(noise, fc.array(fc.nat(400), { maxLength: 6 }), (bytes, cuts) => {
        const sorted = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const pieces = sorted.slice(1).map((cut, index) => bytes.subarray(sorted[index], cut));
        const cutUp = receive(pieces, parser);
        expect(outcome(cutUp)).toEqual(outcome(receive([bytes])));
        expect(parser.argumentStart.length).toBeLessThanOrEqual(RequestParser.KEPT_ARGUMENTS);
        for (const command of cutUp.commands) {
          expect(command.length).toBeGreaterThan(0);
          expect(command.reduce((sum, part) => sum + part.length, 0)).toBeLessThanOrEqual(bytes.length);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
