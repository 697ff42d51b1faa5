import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeCommand, TestConnection } from '../testing/connection.js';
import { rawExchange } from '../testing/raw-exchange.js';
import { describeWithRedis, type RedisServer, startRedis } from '../testing/redis-server.js';
import { ReplyWriter } from './reply-writer.js';
import { RequestParser } from './request-parser.js';

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const REDIS_BULK_BYTES = 512 * 1024 * 1024;
const REDIS_ARGUMENTS = 2 ** 31 - 1;

/**
 * What a server that knows only ECHO would answer with our parser and our writer. Redis's answer to any other command
 * begins with '-ERR' too, and that is as far as the two are compared: words about commands are not this package's.
 */
function ourAnswer(bytes: Uint8Array, authenticated = true): string {
  const parser = new RequestParser({ maximumBulkBytes: REDIS_BULK_BYTES, maximumArguments: REDIS_ARGUMENTS });
  parser.authenticated = authenticated;
  const connection = new TestConnection(parser);
  connection.receive(bytes);
  const reply = new ReplyWriter();
  for (const parts of connection.commands) {
    const name = Buffer.from(parts[0]).toString('latin1').toLowerCase();
    if (name === 'echo' && parts.length === 2 && authenticated) reply.bulk(parts[1], 0, parts[1].length);
    else reply.error('REFUSED');
  }
  if (connection.failure !== undefined) reply.error(`ERR ${connection.failure}`);
  return Buffer.from(reply.bytes.subarray(0, reply.length)).toString('latin1');
}

/** Redis's words about a command as such: unknown, the wrong number of arguments, or not before AUTH. */
const REFUSAL = /-(ERR unknown command|ERR wrong number of arguments for|NOAUTH)[^\r\n]*\r\n/g;

async function redisAnswer(redis: RedisServer, bytes: Uint8Array): Promise<string> {
  return (await rawExchange(redis.port, bytes)).toString('latin1').replace(REFUSAL, '-REFUSED\r\n');
}

describeWithRedis('held against a real Redis', () => {
  let redis: RedisServer;
  let guarded: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
    guarded = await startRedis(['--requirepass', 'secret']);
  });
  afterAll(async () => {
    await redis?.stop();
    await guarded?.stop();
  });

  test.each([
    '*2147483648\r\n',
    '*9223372036854775808\r\n',
    '*-9223372036854775809\r\n',
    '*\r\n',
    '*01\r\n',
    '*+1\r\n',
    '*-0\r\n',
    '* 1\r\n',
    '*one\r\n',
    '*1\r\n$-1\r\n',
    '*1\r\n$536870913\r\n',
    '*1\r\n$9223372036854775808\r\n',
    '*1\r\n$\r\n',
    '*1\r\n$04\r\nPING\r\n',
    '*1\r\n$1x\r\nPING\r\n',
    '*1\r\n:4\r\nPING\r\n',
    '*2\r\n$4\r\nECHO\r\nkey\r\n',
    '*1\r\n\r\n',
    '*1\r\n\n\r\n',
    '*1\r\n*1\r\n$4\r\nPING\r\n',
    '*0\r\n*-1\r\n\r\n \n*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n',
    '*2\rx$4\ryECHOzz$1\r\nx\r\necho y\n',
    'a'.repeat(70_000),
    `*${'1'.repeat(70_000)}`,
    `*1\r\n$${'1'.repeat(70_000)}`,
    `*1\r\n${'x'.repeat(70_000)}`,
    'ECHO "a\r\n',
    "ECHO 'a\r\n",
    'ECHO "a"b\r\n',
    'ECHO a\r\nECHO "',
  ])('the same answer to case %#', async (text) => {
    expect(ourAnswer(latin1(text))).toBe(await redisAnswer(redis, latin1(text)));
  });

  test.each([
    '*10\r\n',
    '*11\r\n',
    '*1\r\n$16385\r\n',
    '*2\r\n$4\r\nECHO\r\n$16385\r\n',
    '*2147483648\r\n',
    '*1\r\n$536870913\r\n',
    encodeCommand(['ECHO', 'x'.repeat(16384)]),
    encodeCommand(Array.from({ length: 10 }, () => 'ECHO')),
  ])('the same answer before authentication to case %#', async (bytes) => {
    const sent = typeof bytes === 'string' ? latin1(bytes) : bytes;
    expect(ourAnswer(sent, false)).toBe(await redisAnswer(guarded, sent));
  });

  test('the same words from any inline line', async () => {
    const unit = fc.constantFrom(...'aZ09"\'\\ \t\v\f\r$*', 'x4', '\\x4f', '\\"', "\\'", '" ', "' ", '\xff');
    await fc.assert(
      fc.asyncProperty(fc.array(unit, { maxLength: 24 }), async (units) => {
        const line = `EVAL "return ARGV" 0 ${units.join('')}\r\n`;
        const connection = new TestConnection(new RequestParser({ maximumBulkBytes: REDIS_BULK_BYTES }));
        connection.receive(latin1(line));
        const ours = new ReplyWriter();
        if (connection.failure === undefined) {
          const values = connection.commands[0].slice(3);
          ours.array(values.length);
          for (const value of values) ours.bulk(value, 0, value.length);
        } else {
          ours.error(`ERR ${connection.failure}`);
        }
        const theirs = await rawExchange(redis.port, latin1(line));
        expect(Buffer.from(ours.bytes.subarray(0, ours.length)).toString('latin1')).toBe(theirs.toString('latin1'));
      }),
      { numRuns: 300 },
    );
  });

  test('the same answer to a pipeline with bytes changed at random', async () => {
    const value = fc.string({ unit: fc.constantFrom(...'ab1$*\r\n'), maxLength: 120 });
    const command = fc.oneof(
      { weight: 4, arbitrary: value.map((text) => encodeCommand(['ECHO', latin1(text)])) },
      { weight: 1, arbitrary: fc.constantFrom('echo in\r\n', '\r\n', '*0\r\n', "echo 'a b'\n").map(latin1) },
    );
    const change = fc.tuple(
      fc.nat(),
      fc.constantFrom(...'*$0123456789-\r\n x"').map((text) => text.charCodeAt(0)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 1, maxLength: 5 }),
        fc.array(change, { minLength: 1, maxLength: 2 }),
        async (commands, changes) => {
          const stream = new Uint8Array(Buffer.concat(commands));
          for (const [place, byte] of changes) stream[place % stream.length] = byte;
          expect(ourAnswer(stream)).toBe(await redisAnswer(redis, stream));
        },
      ),
      { numRuns: 400 },
    );
  });
});
