import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/index.js';

/**
 * `describe` where the tool is installed. Elsewhere the tests are skipped and say so, except in CI, where they fail.
 */
function describeWithTool(tool: string, body: () => void): void {
  const found = spawnSync(tool, ['--version']).status === 0;
  if (found || process.env.CI === 'true') describe(tool, body);
  else describe.skip(`${tool} (skipped: not on this machine)`, body);
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function run(tool: string, words: readonly string[], input = ''): Promise<string> {
  const child = spawn(tool, ['-p', String(server.port), ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
  // A tool that reads no input may have ended, and closed its end.
  child.stdin.on('error', () => {}).end(input);
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return output;
}

describeWithTool('redis-cli', () => {
  test('one command at a time', async () => {
    expect(await run('redis-cli', ['SET', 'cli', '41'])).toBe('OK\n');
    expect(await run('redis-cli', ['INCR', 'cli'])).toBe('42\n');
    expect(await run('redis-cli', ['-3', 'GET', 'cli'])).toBe('42\n');
  });

  test('many from standard input, errors among them', async () => {
    const output = await run('redis-cli', [], 'INCR piped\nnonsense\nMULTI\nINCR piped\nEXEC\nCOMMAND COUNT\n');
    expect(output).toMatch(/^1\nERR unknown command 'nonsense'.*\n\nOK\nQUEUED\n2\n\d+\n$/s);
  });

  test('--pipe, --scan, --stat-like questions and --bigkeys-free administration', async () => {
    const lines = Array.from({ length: 1000 }, (_, key) => `SET pipe:${key} ${key}\r\n`).join('');
    expect(await run('redis-cli', ['--pipe'], lines)).toContain('errors: 0, replies: 1000');
    const scanned = await run('redis-cli', ['--scan', '--pattern', 'pipe:*']);
    expect(new Set(scanned.trim().split('\n')).size).toBe(1000);
    expect(await run('redis-cli', ['INFO', 'keyspace'])).toContain('db0:keys=');
    expect(await run('redis-cli', ['CLIENT', 'LIST'])).toContain('cmd=client|list');
  });
});

describeWithTool('redis-cli', () => {
  test.each(['--bigkeys', '--memkeys'])('%s goes through all keys', async (option) => {
    await run('redis-cli', ['SET', 'big', '12345']);
    expect(await run('redis-cli', [option])).toMatch(/Sampled \d+ keys[\s\S]*strings with/);
  });

  test('help prints the arguments of commands that only we have', async () => {
    expect(await run('redis-cli', ['help', 'quota.take'])).toContain('name subject cost [WAIT duration] [ID token]');
    expect(await run('redis-cli', ['help', 'set'])).toContain('[EX seconds|PX milliseconds|');
  });

  test('MONITOR shows the commands of clients on every lane', async () => {
    const child = spawn('redis-cli', ['-p', String(server.port), 'MONITOR'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await expect.poll(() => output, { timeout: 10_000 }).toContain('OK');
    for (let count = 0; count < 8; count++) await run('redis-cli', ['INCR', `seen:${count}`]);
    await expect.poll(() => output.match(/"INCR" "seen:\d"/g)?.length, { timeout: 10_000 }).toBe(8);
    child.kill();
    await once(child, 'close');
  });

  test('-n selects a database, and where that is refused touches no keys', async () => {
    await run('redis-cli', ['SET', 'kept', '1']);
    expect(await run('redis-cli', ['-n', '1', 'INCR', 'kept'])).toContain('NODATABASE');
    expect(await run('redis-cli', ['GET', 'kept'])).toBe('1\n');
  });
});

describeWithTool('redis-benchmark', () => {
  const load = ['-n', '2000', '-c', '10', '-r', '100', '--csv'];

  test.each(['1', '16'])('runs through with a pipeline of %s', async (pipeline) => {
    const output = await run('redis-benchmark', ['-t', 'ping,incr,get', '-P', pipeline, ...load]);
    for (const name of ['PING_INLINE', 'PING_MBULK', 'GET', 'INCR']) expect(output).toContain(`"${name}"`);
  });

  test('runs a command of its caller', async () => {
    // Its own SET sends a text, and a counter takes none.
    expect(await run('redis-benchmark', [...load, 'SET', 'key:__rand_int__', '7'])).toContain(
      '"SET key:__rand_int__ 7"',
    );
  });
});
