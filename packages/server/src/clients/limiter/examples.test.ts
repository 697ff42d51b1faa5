import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';

const directory = fileURLToPath(new URL('../../../../../examples/', import.meta.url));

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  }
});

function run(file: string): ChildProcess {
  const child = spawn(process.execPath, [`${directory}${file}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, QUOTADB_URL: `quotadb://127.0.0.1:${server.port}`, PORT: '0' },
  });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error('the example said nothing');
}

async function output(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return text;
}

const services = ['express.mjs', 'fastify.mjs', 'hono.mjs', 'express-rate-limit.mjs', 'fastify-rate-limit.mjs'];

test.each(services)('examples/%s says hello five times and then no more', async (file) => {
  const url = await firstLine(run(file));
  const statuses: number[] = [];
  let last: Response | undefined;
  for (let request = 0; request < 6; request++) {
    last = await fetch(url);
    statuses.push(last.status);
    if (last.status === 200) expect(await last.text()).toBe('hello\n');
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  expect(Number(last!.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('examples/windows.mjs prints counts', async () => {
  expect(await output(run('windows.mjs'))).toBe(
    [
      'login 1: 1 in this hour',
      'login 2: 2 in this hour',
      'login 3: 3 in this hour, which is a lot',
      'login 4: 4 in this hour, which is a lot',
      'plain counter: 1',
      '',
    ].join('\n'),
  );
});

test('examples/several-limits.mjs charges all or none', async () => {
  expect(await output(run('several-limits.mjs'))).toBe(
    [
      'request 1: allowed, 99 and 1 remain',
      'request 2: allowed, 98 and 0 remain',
      'request 3: denied, 98 and 0 remain',
      'bucket: allowed, 4 remain',
      '',
    ].join('\n'),
  );
});

test('examples/quota.mjs passes its limit never, and uses it up', async () => {
  expect(await output(run('quota.mjs'))).toBe(
    [
      '500 admitted, some of them without asking',
      'reserved 400, used 150',
      'another 400: denied',
      '350 remain',
      '',
    ].join('\n'),
  );
});

test('examples/leases.mjs runs two at once', async () => {
  expect(await output(run('leases.mjs'))).toBe(['denied, done, done', '2 at once', 'done', ''].join('\n'));
});

test('examples/llm-budget.mjs charges what calls to a model used, also when the caller hangs up', async () => {
  expect(await output(run('llm-budget.mjs'))).toBe(
    [
      'in one piece: 104 of llm-tokens, 1010 of llm-money',
      'streamed: 54 of llm-tokens, 510 of llm-money',
      'the caller sees no usage that it did not ask for',
      'hung up: less than estimated is charged',
      "429 The budget 'llm-tokens' has too few tokens left for this request. Try again later.",
      'all that was not used is there again',
      '',
    ].join('\n'),
  );
});

test('every example is among those tested', () => {
  // llm-budget.mjs starts llm-upstream.mjs.
  const llm = ['llm-budget.mjs', 'llm-upstream.mjs'];
  const tested = [...services, ...llm, 'windows.mjs', 'several-limits.mjs', 'quota.mjs', 'leases.mjs'];
  expect(
    readdirSync(directory)
      .filter((name) => name.endsWith('.mjs'))
      .sort(),
  ).toEqual(tested.sort());
});
