import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TestConnection } from '../testing/connection.js';
import { searchForeignLine } from './foreign-protocol.js';
import { RequestParser } from './request-parser.js';

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const isForeign = (text: string) => searchForeignLine(latin1(text), 0, text.length) < 0;

test.each([
  'POST / HTTP/1.1\r\n',
  'post /\r\n',
  'POST\r\n',
  '  \tPost x\n',
  'POST / HT',
  'Host: a\r\n',
  'hOST:a\r\n',
  'GET / HTTP/1.1\r\n',
  'PUT /a b c HTTP/1.0 \r\n',
  'OPTIONS * HTTP/1.1\n',
  'PRI * HTTP/2.0\r\n',
  'HTTP/1.1 200 HTTP/\r\n',
  '\x16\x03\x01\x02\x00',
  'SET a 1\r\nGET a\r\nPOST / HTTP/1.1\r\n',
  'GET /\r\nSET a 1\r\nX HTTP/1.1\r\n',
])('%j is a line of another protocol', (text) => {
  expect(isForeign(text)).toBe(true);
});

test.each([
  '',
  'POST',
  'PING\r\n',
  'GET HTTP\r\n',
  'GET http/1.1\r\n',
  'GET / HTTP/1.1',
  'POSTS a\r\n',
  'HOST a\r\n',
  'GET HTTP/1.1 x\r\n',
  '\x16\x04',
  '*1\r\n$4\r\nPOST\r\n',
  'PING\r\n*2\r\n$4\r\nECHO\r\n$5\r\nPOST \r\nHost: a\r\n',
])('%j is none, or not one yet', (text) => {
  expect(isForeign(text)).toBe(false);
});

test('the search ends at a multibulk command and at a line that is not complete', () => {
  expect(searchForeignLine(latin1('PING\r\n*1\r\n'), 0, 10)).toBe(6);
  expect(searchForeignLine(latin1('PING\r\nECHO a\r\n'), 0, 10)).toBe(6);
  expect(searchForeignLine(latin1('PING\r\nECHO a\r\n'), 0, 14)).toBe(14);
});

test('no command behind a foreign line runs, however its bytes are cut', () => {
  const line = fc.constantFrom(
    'PING\r\n',
    'ECHO a\n',
    '\r\n',
    '*1\r\n$4\r\nPING\r\n',
    '*2\r\n$4\r\nECHO\r\n$6\r\nPOST a\r\n',
  );
  const foreign = fc.constantFrom('POST / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\n', 'Host: a\r\n', '\x16\x03\x01\n');
  const cuts = fc.array(fc.nat(60), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(line), foreign, cuts, (before, middle, sizes) => {
      const connection = new TestConnection(new RequestParser({ maximumBulkBytes: 1024 }));
      const bytes = latin1(`${before.join('')}${middle}INCR a\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n`);
      let position = 0;
      for (const size of sizes) {
        connection.receive(bytes.subarray(position, position + size));
        position += size;
      }
      connection.receive(bytes.subarray(position));
      expect(connection.failure).toBe('foreign');
      const names = connection.commands.map(([name]) => Buffer.from(name).toString());
      expect(names.length).toBeLessThanOrEqual(before.length);
      expect(names).not.toContain('INCR');
    }),
  );
});
