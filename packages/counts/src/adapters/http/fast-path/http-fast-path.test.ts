import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startMemoryServer } from '../../../testing/memory-server.js';
import { RawConnection } from '../../../testing/raw-connection.js';
import type { TestServer } from '../../../testing/test-server.js';
import { until } from '../../../testing/until.js';
import { MemoryRepository } from '../../memory/memory-repository.js';
import { PlainRequestReader } from './plain-request.js';

const head = (line: string, ...headers: string[]) => `${[line, 'Host: test', ...headers].join('\r\n')}\r\n\r\n`;
const post = (action: string, body = '', ...headers: string[]) =>
  head(`POST /api/v1/counts/${action} HTTP/1.1`, `Content-Length: ${body.length}`, ...headers) + body;

describe('a plain request', () => {
  const read = (text: string) => new PlainRequestReader().read(text, 0);

  test.each([
    post('item/increase'),
    post('item/increase', '{"amount":17}', 'Content-Type: application/json'),
    post('item/decrease', '{"amount": 17}', 'Connection: Keep-Alive', 'User-Agent: x/1 (y)', 'Accept: */*'),
    post('item/reset', '{}'),
    head('POST /api/v1/counts/item/increase HTTP/1.1'),
  ])('%j', (text) => {
    expect(read(text)).toMatchObject({ itemId: 'item', end: text.length });
  });

  test.each([
    ['another method', head('GET /api/v1/counts/item/increase HTTP/1.1')],
    ['another version', head('POST /api/v1/counts/item/increase HTTP/1.0')],
    ['an encoded id', post('a%20b/increase')],
    ['a query', post('item/increase?x=1')],
    ['no host', 'POST /api/v1/counts/item/increase HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
    ['two hosts', post('item/increase', '', 'Host: other')],
    ['two lengths', post('item/increase', '', 'Content-Length: 5')],
    ['a signed length', head('POST /api/v1/counts/item/increase HTTP/1.1', 'Content-Length: +5')],
    ['a list of lengths', head('POST /api/v1/counts/item/increase HTTP/1.1', 'Content-Length: 0, 0')],
    ['a transfer encoding', post('item/increase', '', 'Transfer-Encoding: chunked')],
    ['an expectation', post('item/increase', '', 'Expect: 100-continue')],
    ['an upgrade', post('item/increase', '', 'Connection: upgrade', 'Upgrade: h2c')],
    ['a close', post('item/increase', '', 'Connection: close')],
    ['a space before the colon', post('item/increase', '', 'X-Header : 1')],
    ['a folded header', post('item/increase', '', 'X-Header: 1', ' more')],
    ['a bare line feed', post('item/increase', '', 'X-Header: 1\nTransfer-Encoding: chunked')],
    ['a bare carriage return', post('item/increase', '', 'X-Header: 1\rX: 2')],
    ['a character beyond ASCII', post('item/increase', '', 'X-Header: \u00ff')],
    ['a vertical tab around a value', post('item/increase', '', 'X-Header: \u000b1\u000b')],
    ['a space beyond ASCII around a value', post('item/increase', '', 'X-Header:\u00a01')],
    ['a header without a name', post('item/increase', '', ': 1')],
    ['a header without a colon', post('item/increase', '', 'X-Header')],
    ['a NUL', post('item/increase', '', 'X-Header: \u0000')],
    ['another media type', post('item/increase', '', 'Content-Type: text/plain')],
    ['a large amount', post('item/increase', '{"amount":9007199254740993}')],
    ['an unknown field', post('item/increase', '{"amount":1,"x":1}')],
    ['a body that is not all there', post('item/increase', '{"amount":1}').slice(0, -1)],
    ['a head that is not all there', post('item/increase').slice(0, -1)],
    ['leading white space', `\r\n${post('item/increase')}`],
  ])('%s is not', (_name, text) => {
    expect(read(text)).toBeUndefined();
  });
});

describe('connections', () => {
  let server: TestServer;
  let repository: MemoryRepository;
  let connection: RawConnection;

  beforeEach(async () => {
    repository = new MemoryRepository();
    await repository.create('item', 0n);
    server = await startMemoryServer({ fastPath: true, repository });
    connection = await RawConnection.open(server.port);
  });

  afterEach(async () => {
    connection.socket.destroy();
    await server.stop();
  });

  const valuesOf = (answers: { body: string }[]) => answers.map(({ body }) => JSON.parse(body).value);

  test('pipelined requests are applied and answered in their order', async () => {
    const requests = [
      'item/increase',
      'item/increase',
      'item/reset',
      'item/decrease',
      'nobody/increase',
      'item/increase',
    ];
    connection.socket.write(requests.map((action) => post(action)).join(''));
    const answers = await connection.answers(requests.length);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 200]);
    expect(valuesOf(answers)).toEqual([1, 2, 0, -1, undefined, 0]);
  });

  test('the first request that is not plain, and all after it, are answered by node:http, in order', async () => {
    const read = head('GET /api/v1/internal/counts/item HTTP/1.1');
    connection.socket.write(post('item/increase') + read + post('item/increase'));
    const answers = await connection.answers(3);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(JSON.parse(answers[1]!.body).currentValue).toBe(1);
    expect(JSON.parse(answers[2]!.body).value).toBe(2);
    connection.socket.write(post('item/increase'));
    expect(JSON.parse((await connection.answers(4))[3]!.body).value).toBe(3);
  });

  test('a request that arrives byte by byte is answered', async () => {
    for (const byte of post('item/increase', '{"amount":5}')) {
      connection.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(valuesOf(await connection.answers(1))).toEqual([5]);
  });

  test('a slow answer holds back those behind it, and node:http waits for both', async () => {
    const change = repository.change.bind(repository);
    let letGo: () => void = () => undefined;
    repository.change = async (itemId, ...rest) => {
      if (itemId === 'slow') await new Promise<void>((resolve) => (letGo = resolve));
      return change(itemId, ...rest);
    };
    await repository.create('slow', 100n);
    connection.socket.write(post('slow/increase') + post('item/increase') + head('GET /healthz HTTP/1.1'));
    await until(async () => (await repository.find(['item']))[0]!.currentValue === 1n);
    expect(connection.received).toBe('');
    letGo();
    const answers = await connection.answers(3);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
    expect(JSON.parse(answers[0]!.body).value).toBe(101);
  });

  test('thousands of pipelined requests are all answered', async () => {
    const count = 5_000;
    connection.socket.write(post('item/increase').repeat(count));
    const answers = await connection.answers(count);
    expect(valuesOf(answers)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  test('garbage is refused by node:http', async () => {
    connection.socket.write(`${post('item/increase')}POST nonsense\r\n\r\n`);
    const answers = await connection.answers(2);
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
  });

  test('a client that stops sending still gets its answer, and the connection ends', async () => {
    connection.socket.end(post('item/increase'));
    expect(valuesOf(await connection.answers(1))).toEqual([1]);
    await until(() => connection.closed);
  });

  test('a client that goes away before its answer harms no other', async () => {
    connection.socket.write(post('item/increase').repeat(100));
    connection.socket.resetAndDestroy();
    const other = await RawConnection.open(server.port);
    other.socket.write(post('item/reset'));
    expect((await other.answers(1))[0]!.status).toBe(200);
    other.socket.destroy();
  });

  test('an idle connection is closed after the keep-alive timeout of the server', async () => {
    server.server.keepAliveTimeout = 20;
    const other = await RawConnection.open(server.port);
    other.socket.write(post('item/increase'));
    await other.answers(1);
    await until(() => other.closed);
  });
});
