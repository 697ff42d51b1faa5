import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { QUOTADB_BINARY } from '@quotadb/server/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** A directory whose name needs quotes, and a `quotadb` on the path, as after an installation. */
let directory: string;
let environment: NodeJS.ProcessEnv;
const started: ChildProcess[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "quotadb it's "));
  const bin = join(directory, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'quotadb'), `#!/bin/sh\nexec "${process.execPath}" "${QUOTADB_BINARY}" "$@"\n`);
  await chmod(join(bin, 'quotadb'), 0o755);
  environment = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, npm_lifecycle_event: '' };
});
afterEach(async () => {
  for (const child of started.splice(0)) {
    const isOver = child.exitCode !== null || child.signalCode !== null;
    const exited = isOver ? undefined : once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  await rm(directory, { recursive: true });
});

async function run(line: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', line], { env: environment, cwd: directory })).stdout;
}

interface Ready {
  readonly region: string;
  readonly resp: number;
}

/** Runs a line of a shell that starts a server, and resolves with its ready line. */
async function serve(line: string): Promise<Ready> {
  const child = spawn('sh', ['-c', `exec ${line}`], { env: environment, cwd: directory });
  started.push(child);
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  const lines = createInterface({ input: child.stdout });
  const [first] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [''])]);
  if (first === '') throw new Error(`${line}: ${complaints}`);
  return JSON.parse(first) as Ready;
}

/** The command that the output of another one names as the next step. */
function nextOf(output: string): string {
  const lines = output.trimEnd().split('\n');
  return (lines.at(-1) as string).replace(/^(?:next:)?\s+/, '').trim();
}

test('each step that certs prints works as printed, up to a server of the cluster', async () => {
  const made = await run('quotadb certs init --cluster orders --out certs');
  const issue = nextOf(made);
  expect(issue).toBe('quotadb certs issue --region us --dir certs');
  const start = nextOf(await run(issue));
  expect(start).toContain('--cluster orders');
  expect(await serve(`${start} --resp 0 --http 0 --repl 0`)).toMatchObject({ region: 'us' });
}, 60_000);

test('the step that backup prints starts a server from it, while the first one runs', async () => {
  const flags = '--region eu --cluster orders --shards 16 --resp 0 --http 0 --repl 0';
  const first = await serve(`quotadb serve --data data ${flags}`);
  expect(await run(`quotadb cli -p ${first.resp} INCRBY visits 42`)).toBe('42\n');
  const second = await serve(nextOf(await run(`quotadb backup -p ${first.resp} --to monday`)));
  expect(second).toMatchObject({ region: 'eu' });
  expect(await run(`quotadb cli -p ${second.resp} GET visits`)).toBe('42\n');
  const { next } = JSON.parse(await run(`quotadb backup -p ${first.resp} --to tuesday --json`));
  expect(next).toContain('tuesday');
}, 60_000);
