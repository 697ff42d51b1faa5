import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/index.js';

/**
 * Libraries that take some errors for something else: they must notice each refusal. Debian's php-redis and
 * python3-redis, run as they are, on Redis and here.
 */

/** `describe` where the interpreter has the library; elsewhere the tests are skipped and say so. */
function describeWithLibrary(interpreter: string, probe: readonly string[], body: () => void): void {
  const found = spawnSync(interpreter, probe).status === 0;
  if (found) describeWithRedis(`${interpreter} with its library for Redis`, body);
  else describe.skip(`${interpreter} with its library for Redis (skipped: not on this machine)`, body);
}

let redis: RedisServer;
let one: TestServer;
let sixteen: TestServer;
beforeAll(async () => {
  [redis, one, sixteen] = await Promise.all([startRedis(), startTestServer(), startTestServer({ databases: 16 })]);
});
afterAll(async () => {
  await Promise.all([redis?.stop(), one.stop(), sixteen.stop()]);
});

async function run(interpreter: string, words: readonly string[]): Promise<string[]> {
  const child = spawn(interpreter, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return output.trim().split('\n');
}

/** Prints the result of each expression as JSON, or the code of the exception. */
const PHP = `
  [, $port, $expressions] = $argv;
  $r = new Redis();
  $r->connect('127.0.0.1', (int) $port);
  foreach (json_decode($expressions) as $expression) {
    try { echo json_encode(eval("return $expression;")), "\\n"; }
    catch (RedisException $error) { echo strtok($error->getMessage(), ' '), "\\n"; }
  }`;

describeWithLibrary('php', ['-r', 'exit(class_exists("Redis") ? 0 : 1);'], () => {
  const php = (port: number, expressions: readonly string[]) =>
    run('php', ['-r', PHP, '--', String(port), JSON.stringify(expressions)]);

  test('locks, caches and sums that need more than integers throw, and do not look like a held lock', async () => {
    const expressions = [
      "$r->set('lock', 'a random token', ['nx', 'ex' => 10])",
      "$r->setex('cache', 10, serialize([1, 2]))",
      "$r->setnx('flag', 'yes')",
      "$r->incrByFloat('sum', 1.5)",
      "$r->watch('key')",
      "$r->incr('count')",
    ];
    expect(await php(redis.port, expressions)).toEqual(['true', 'true', 'true', '1.5', 'true', '1']);
    const refused = ['NOTINTEGER', 'NOTINTEGER', 'NOTINTEGER', 'NOTINTEGER', 'NOTSUPPORTED', '1'];
    expect(await php(one.port, expressions)).toEqual(refused);
  });

  test("Laravel's cache connection counts in database 1 as on Redis, or throws", async () => {
    const expressions = [
      '$r->select(1)',
      "$r->setex('laravel:hits', 60, 5)",
      "$r->incrBy('laravel:hits', 3)",
      "$r->get('laravel:hits')",
      '$r->select(0)',
      "$r->get('laravel:hits')",
    ];
    const replies = ['true', 'true', '8', '"8"', 'true', 'false'];
    expect(await php(redis.port, expressions)).toEqual(replies);
    expect(await php(sixteen.port, expressions)).toEqual(replies);
    const refused = [...Array.from({ length: 4 }, () => 'NODATABASE'), 'true', 'false'];
    expect(await php(one.port, expressions)).toEqual(refused);
  });
});

const PYTHON = `
import json, sys, redis
_, port, database, expressions = sys.argv
r = redis.Redis(port=int(port), db=int(database))
for expression in json.loads(expressions):
    try:
        print(json.dumps(eval(expression), default=lambda value: value.decode()))
    except redis.ResponseError as error:
        print(str(error).split(' ')[0])
`;

/** Debian's own, which has Debian's packages. */
const PYTHON_PATH = '/usr/bin/python3';

describeWithLibrary(PYTHON_PATH, ['-c', 'import redis'], () => {
  const python = (port: number, database: number, expressions: readonly string[]) =>
    run(PYTHON_PATH, ['-c', PYTHON, String(port), String(database), JSON.stringify(expressions)]);

  test('a lock and a text raise, and are not taken for a lock that is held', async () => {
    const expressions = [
      "r.lock('py:lock', timeout=10).acquire(blocking=False)",
      "r.set('text', 'some text')",
      "r.incr('count')",
      "r.incrbyfloat('py:sum', 1.5)",
    ];
    expect(await python(redis.port, 0, expressions)).toEqual(['true', 'true', expect.any(String), '1.5']);
    expect(await python(sixteen.port, 0, expressions)).toEqual(['NOTINTEGER', 'NOTINTEGER', '1', 'NOTINTEGER']);
  });

  test('a URL with a database counts in that one, or raises', async () => {
    const expressions = ["r.incr('mine')", "r.keys('mine')", 'r.dbsize()'];
    expect(await python(sixteen.port, 3, expressions)).toEqual(['1', '["mine"]', '1']);
    expect(await python(one.port, 3, expressions)).toEqual(['NODATABASE', 'NODATABASE', 'NODATABASE']);
  });
});
