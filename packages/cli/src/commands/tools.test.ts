import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { eventually, QUOTADB_BINARY, startTestServer, TestClient, type TestServer } from '@quotadb/server/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../program/program.js';
import { describePeer, formatStatus, readStatus } from '../status/status.js';
import { completionScript, shells } from './completion.js';

let server: TestServer;
let guardedServer: TestServer;
let directory: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  [server, guardedServer] = await Promise.all([startTestServer(), startTestServer({ password: 'secret' })]);
  directory = await mkdtemp(join(tmpdir(), 'quotadb-tools-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await Promise.all([server.stop(), guardedServer.stop()]);
  await rm(directory, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(words: readonly string[], input = '', environment: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const child = spawn(process.execPath, [QUOTADB_BINARY, ...words], { env: { ...process.env, ...environment } });
  children.push(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {}).end(input);
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

const at = (port = server.port) => ['--resp', String(port)];

describe('quotadb cli', () => {
  test('runs one command and prints its reply', async () => {
    expect(await run(['cli', ...at(), 'SET', 'one', '41'])).toEqual({ code: 0, stdout: 'OK\n', stderr: '' });
    expect(await run(['cli', ...at(), 'INCR', 'one'])).toMatchObject({ code: 0, stdout: '42\n' });
    expect(await run(['cli', ...at(), 'EXPIRE', 'one', '-1', 'NX'])).toMatchObject({ code: 0, stdout: '1\n' });
  });

  test('ends with 1 when the reply is an error', async () => {
    expect(await run(['cli', ...at(), 'INCR'])).toMatchObject({ code: 1, stdout: expect.stringMatching(/^ERR wrong/) });
  });

  test('ends with 3 when no server is there, and with 2 when the flags are wrong', async () => {
    expect(await run(['cli', '--resp', '1', 'PING'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/cannot reach/),
    });
    expect(await run(['cli', '--resp', 'x', 'PING'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no port/),
    });
    expect(await run(['cli', '--nonsense'])).toMatchObject({ code: 2 });
  });

  test('runs a pipe line by line, and replies in order', async () => {
    const lines = Array.from({ length: 1000 }, () => 'INCR piped').join('\n');
    const { code, stdout } = await run(['cli', ...at()], `# a comment\n\n${lines}\n`);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toEqual(Array.from({ length: 1000 }, (_, index) => String(index + 1)));
  });

  test('goes on behind an error in a pipe, and ends with 1', async () => {
    const { code, stdout } = await run(['cli', ...at()], 'SET p 1\nNOPE\nGET "p\nGET "p"');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^OK\nERR unknown command 'NOPE'.*\nERR quotes are not closed.*\n1\n$/);
  });

  test('--json prints a line of JSON for each reply', async () => {
    const { stdout } = await run(
      ['cli', '--json', ...at()],
      'MSET ja 1 jb 9223372036854775807\nMGET ja jb jc\nHELLO 3\nNOPE\n',
    );
    const replies = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(replies).toEqual([
      'OK',
      ['1', '9223372036854775807', null],
      expect.objectContaining({ proto: 3 }),
      { error: expect.any(String) },
    ]);
  });

  test('logs in, and keeps the password out of its arguments if wanted', async () => {
    expect(await run(['cli', ...at(guardedServer.port), 'PING'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^NOAUTH/),
    });
    const { stdout } = await run(['cli', ...at(guardedServer.port), 'PING'], '', { QUOTADB_PASSWORD: 'secret' });
    expect(stdout).toBe('PONG\n');
    const wrong = await run(['cli', ...at(guardedServer.port), '--password', 'x', 'PING']);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/WRONGPASS/) });
  });
});

describe('quotadb status', () => {
  test('shows servers in a table, and ends with 3 when one is not there', async () => {
    const { code, stdout } = await run(['status', `here=127.0.0.1:${server.port}`, 'gone=127.0.0.1:1']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^server +state +region/);
    expect(stdout).toMatch(/^here +up +local/m);
    expect(stdout).toMatch(/^gone +down/m);
    expect(stdout).toMatch(/^gone: cannot reach/m);
  });

  test('as JSON is for scripts', async () => {
    const { code, stdout } = await run(['status', ...at(), '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ state: 'up', region: 'local', disk: 'memory only' }),
    ]);
  });

  test('ends with 1 where it is not let in', async () => {
    const { code, stdout } = await run(['status', ...at(guardedServer.port)]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/refused/);
  });
});

test('quotadb watch prints a line for each change', async () => {
  const client = await TestClient.open(server.port);
  await client.call('SET', 'watched', '10');
  const child = spawn(process.execPath, [
    QUOTADB_BINARY,
    'watch',
    'watched',
    ...at(),
    '--interval',
    '20ms',
    '--count',
    '3',
    '--json',
  ]);
  children.push(child);
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const closed = once(child, 'close');
  await eventually(() => expect(stdout).toContain('"value":10'));
  await client.call('INCRBY', 'watched', '5');
  await eventually(() => expect(stdout).toContain('"by":5'));
  await client.call('DEL', 'watched');
  expect((await closed)[0]).toBe(0);
  const values = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).value);
  expect(values).toEqual([10, 15, null]);
  client.close();
});

describe('quotadb completion', () => {
  test.each(shells)('%s names every command and its flags, and the shell takes it', async (shell) => {
    const { code, stdout } = await run(['completion', shell]);
    expect(code).toBe(0);
    for (const word of ['serve', 'cli', 'status', 'watch', 'backup', 'max-memory']) expect(stdout).toContain(word);
    if (hasProgram(shell)) execFileSync(shell, ['-n'], { input: stdout });
  });

  test('bash completes with it', async () => {
    const { stdout } = await run(['completion', 'bash']);
    const completed = execFileSync(
      'bash',
      ['-c', `${stdout}\nCOMP_WORDS=(quotadb sta) COMP_CWORD=1; _quotadb; echo "\${COMPREPLY[@]}"`],
      { encoding: 'utf8' },
    );
    expect(completed.trim()).toBe('status');
  });

  test.each([
    ['peers', 'l', 'list'],
    ['certs', 'is', 'issue'],
    ['completion', 'f', 'fish'],
    ['import', '--fr', '--from --from-user --from-tls --from-tls-ca'],
  ])('bash knows what comes behind %s %s', async (command, begun, expected) => {
    const script = completionScript(
      buildProgram(() => {}),
      'bash',
    );
    const words = `COMP_WORDS=(quotadb ${command} ${begun}) COMP_CWORD=2; _quotadb; echo "\${COMPREPLY[@]}"`;
    const completed = execFileSync('bash', ['-c', `${script}\n${words}`], { encoding: 'utf8' });
    expect(completed.trim()).toBe(expected);
  });
});

test('the help of every command shows how it is used', () => {
  // That of bench is its own.
  for (const command of buildProgram(() => {}).commands.filter((one) => one.name() !== 'bench')) {
    const shown: string[] = [];
    command.configureOutput({ writeOut: (text) => void shown.push(text) }).outputHelp();
    expect(shown.join('')).toMatch(new RegExp(`Examples?:\n {2}\\$ .*quotadb ${command.name()}`));
  }
});

test('status leaves out what a narrow terminal has no room for, and never the state', () => {
  const status = {
    server: 'eu',
    state: 'up',
    region: 'eu',
    keys: 1000,
    longestTurnMs: 1,
    lanes: 2,
    transport: 'epoll',
  } as const;
  expect(formatStatus([status])).toContain('longest turn');
  const narrow = formatStatus([status], 50);
  expect(narrow).not.toContain('longest turn');
  expect(narrow).toMatch(/^eu +up .*1,000/m);
  expect(Math.max(...narrow.split('\n').map((line) => line.length))).toBeLessThanOrEqual(50);
});

test.each([
  ['state=connected,rtt_ms=1.5,lag_ms=1200,lag_versions=0', 'connected, round trip 1.5 ms, in step'],
  ['state=connected,rtt_ms=1.5,lag_ms=1200,lag_versions=7', 'connected, round trip 1.5 ms, behind 1200 ms'],
  ['state=away,rtt_ms=-1,lag_ms=8000,lag_versions=0', 'away, behind 8000 ms'],
])('status says of a peer whether it lacks anything: %s', (fields, words) => {
  const { eu } = readStatus('us', `quotadb_peer_eu:${fields}\r\n`).peers ?? {};
  expect(describePeer(eu)).toBe(words);
});

test('a peer in the JSON of status is an object of numbers, null where nothing is known', () => {
  const fields = 'state=away,address=10.0.0.2:7380,rtt_ms=-1,lag_ms=8000,lag_versions=3,trouble=refused: a=b';
  expect(readStatus('us', `quotadb_peer_eu:${fields}\r\n`).peers).toEqual({
    eu: {
      state: 'away',
      address: '10.0.0.2:7380',
      roundTripMs: null,
      lagMs: 8000,
      lagVersions: 3,
      trouble: 'refused: a=b',
    },
  });
});

test('peers list --json has numbers as numbers', async () => {
  const other = await startTestServer({ region: 'us' });
  const names = ['peers', 'add', 'eu', '127.0.0.1:1', ...at(other.port), '--json'];
  expect(JSON.parse((await run(names)).stdout)).toEqual({ ok: true });
  const [peer] = JSON.parse((await run(['peers', 'list', ...at(other.port), '--json'])).stdout);
  expect(peer).toMatchObject({
    region: 'eu',
    isConfigured: true,
    lagVersions: expect.any(Number),
    bytesIn: 0,
    incarnation: expect.any(String),
  });
  await other.stop();
});

test('a command that is not there gets the nearest one', async () => {
  const mistyped = await run(['cli', ...at(), 'INCRE', 'a']);
  expect(mistyped).toMatchObject({ code: 1, stderr: 'quotadb: did you mean INCR?\n' });
  expect((await run(['cli', 'help', '@quota'])).stdout).toContain('QUOTA.TAKE');
  expect((await run(['statsu'])).stderr).toContain('did you mean status?');
  expect((await run(['serve', '--max-memroy', '1gb'])).stderr).toContain('did you mean --max-memory?');
});

test('bench has a help of its own', async () => {
  const { code, stdout } = await run(['bench', '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--pipeline');
});

test('secrets are made and hashed', async () => {
  expect((await run(['hash-password'], 'secret\n')).stdout).toMatch(/^scrypt:\d+:8:5:[\w-]+:[\w-]+\n$/);
  expect((await run(['hash-password'])).code).toBe(2);
  expect((await run(['make-token'])).stdout).toMatch(/^token [\w-]{43}\nhash {2}sha256:[0-9a-f]{64}\n$/);
});

describe.skipIf(!hasProgram('script') && process.env.CI !== 'true')('at a terminal', () => {
  /** A terminal into which a test types, key by key, after it has shown an expected text. */
  function terminal(words: readonly string[]) {
    // Without exec some shells stay in front of the program, get Ctrl-C too, and answer with an exit code of their own.
    const command = `exec ${[process.execPath, QUOTADB_BINARY, ...words].map((word) => `'${word}'`).join(' ')}`;
    const environment = { ...process.env, QUOTADB_HISTORY: join(directory, 'history'), TERM: 'xterm', COLUMNS: '100' };
    const child = spawn('script', ['-qec', command, '/dev/null'], { env: environment });
    children.push(child);
    let shown = '';
    let all = '';
    child.stdout.on('data', (chunk) => {
      shown += chunk;
      all += chunk;
    });
    // Between two keys there may be escapes that clear the rest of the line.
    const see = (text: string | RegExp) => eventually(() => expect(stripVTControlCharacters(shown)).toMatch(text));
    const seeRaw = (text: string) => eventually(() => expect(shown.replaceAll('\r', '')).toContain(text));
    const type = async (keys: string) => {
      shown = '';
      for (const key of keys) {
        child.stdin.write(key);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { child, see, seeRaw, type, everything: () => all, closed: once(child, 'close') };
  }

  test('the prompt completes, hints, replies, explains and remembers', async () => {
    const { see, seeRaw, type, closed } = terminal(['cli', ...at()]);
    await see('> ');
    await type('incrbye');
    // Hints of shorter commands may have been there for a moment.
    await see(/b.*y.*e$/s);
    await type('\t');
    await see(/x /);
    await see('key increment <seconds | duration>');
    await type('prompted 2 60\r');
    await see('(integer) 2');
    await type('quota.take ');
    await see('name subject cost');
    // The hint is taken away before the line ends: it must not look as if it had been sent.
    await type('\r');
    await see('wrong number of arguments');
    await seeRaw('\u001b[K\n');
    await type('GET prompted\r');
    await see('"2"');
    await type('help ttl\r');
    await see('TTL key');
    await type('GET "x\r');
    await see('quotes are not closed');
    // The line before the last two, with the key that goes up.
    await type('\u001b[A');
    await type('\u001b[A');
    await type('\u001b[A');
    await see('GET prompted');
    await type('\r');
    await see('"2"');
    await type('exit\r');
    expect((await closed)[0]).toBe(0);
  });

  test('a start is a summary for people and log lines that they can read, with colours unless they are unwanted', async () => {
    const flags = ['serve', '--resp', '0', '--http', '0', '--repl', '0', '--max-memory', '32mb'];
    const { see, seeRaw, type, closed } = terminal(flags);
    await see(/dashboard +http:\/\/127\.0\.0\.1:\d+\/dashboard\//);
    await see('in memory only: nothing is kept');
    await seeRaw('\u001b[1mQuotaDB ');
    await type('\u0003');
    await see(/\d\d:\d\d:\d\d INFO {2}stopped/);
    expect((await closed)[0]).toBe(0);
    const plain = terminal([...flags, '--no-color']);
    await plain.see('Ctrl-C stops it');
    await plain.type('\u0003');
    await plain.see('INFO  stopped');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape is searched for
    expect(plain.everything()).not.toMatch(/\u001b\[\d+m/);
    const json = terminal([...flags, '--log-format', 'json']);
    await json.see(/^\{"ready":true/m);
    await json.type('\u0003');
    await json.see('"msg":"stopped"');
  });

  test('Ctrl-D ends the prompt', async () => {
    const { see, type, closed } = terminal(['cli', ...at()]);
    await see('> ');
    await type('\u0004');
    expect((await closed)[0]).toBe(0);
  });

  test('a server that goes away is said to, and the prompt goes on', async () => {
    const other = await startTestServer();
    const { see, type, closed } = terminal(['cli', ...at(other.port)]);
    await see('> ');
    await other.stop();
    await type('PING\r');
    await see(/closed the connection|cannot reach|ECONNRESET|EPIPE/);
    await type('PING\r');
    await see('cannot reach');
    await type('exit\r');
    expect((await closed)[0]).toBe(0);
  });

  test('replies of one command are shown for people', async () => {
    const { see, closed } = terminal(['cli', ...at(), 'GET', 'nothing']);
    await see('(nil)');
    expect((await closed)[0]).toBe(0);
  });
});

function hasProgram(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`]);
    return true;
  } catch {
    return false;
  }
}
