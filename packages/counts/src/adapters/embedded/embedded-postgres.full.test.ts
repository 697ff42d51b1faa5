import { type ChildProcess, spawn } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCountsService } from '../../service.js';
import { until } from '../../testing/until.js';
import { EmbeddedPostgres } from './embedded-postgres.js';

let folder: string;
const started: EmbeddedPostgres[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quotadb-embedded-test-'));
});

afterEach(async () => {
  for (const postgres of started.splice(0)) await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

function embedded(directory?: string): EmbeddedPostgres {
  const postgres = new EmbeddedPostgres({ directory });
  started.push(postgres);
  return postgres;
}

async function ask(postgres: EmbeddedPostgres, query: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(await postgres.start());
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

test('what it holds outlives it, and temporary files do not', async () => {
  const directory = join(folder, 'data', 'postgres');
  const first = embedded(directory);
  await ask(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const { host } = await first.start();
  await first.stop();
  await expect(access(host!)).rejects.toThrow('ENOENT');
  expect(await ask(embedded(directory), 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('it writes to the disk before it answers, and listens on no port', async () => {
  const settings = await ask(
    embedded(),
    "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses') ORDER BY name",
  );
  expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    full_page_writes: 'on',
    listen_addresses: '',
    synchronous_commit: 'on',
  });
});

test('no other account may enter the folder of its socket', async () => {
  const { host } = await embedded().start();
  expect((await stat(host!)).mode & 0o077).toBe(0);
});

test('it works in a folder that its account cannot enter by name', async () => {
  const closed = join(folder, 'closed');
  await mkdir(closed);
  await chmod(closed, 0o700);
  expect(await ask(embedded(join(closed, 'postgres')), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a database that was only half made is made again', async () => {
  const directory = join(folder, 'postgres');
  await mkdir(`${directory}.unfinished/base`, { recursive: true });
  expect(await ask(embedded(directory), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test.skipIf(process.platform !== 'linux')(
  'none of its processes learns a secret of ours, nor takes our settings',
  async () => {
    const secret = 'a-secret-of-the-environment';
    const names = ['QUOTADB_PASSWORD', 'QUOTADB_POSTGRES', 'AWS_SECRET_ACCESS_KEY', 'PGDATA', 'PGPORT', 'PGSSLMODE'];
    for (const name of names) vi.stubEnv(name, secret);
    try {
      const directory = join(folder, 'postgres');
      expect(await ask(embedded(directory), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      const postmaster = await postmasterPid(directory);
      const children = await childrenOf(process.pid);
      // The postmaster, and the watchdog over it.
      expect(children).toContain(postmaster);
      expect(children.length).toBeGreaterThan(1);
      for (const pid of [...children, ...(await childrenOf(postmaster))]) {
        expect(await readFile(`/proc/${pid}/environ`, 'latin1')).not.toContain(secret);
      }
    } finally {
      vi.unstubAllEnvs();
    }
  },
);

async function childrenOf(pid: number): Promise<number[]> {
  const ids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const parents = await Promise.all(
    ids.map(async (id) => {
      const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
      return Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]);
    }),
  );
  return ids.filter((_, index) => parents[index] === pid);
}

test('started twice at once it is one server', async () => {
  const postgres = embedded();
  const [one, other] = await Promise.all([postgres.start(), postgres.start()]);
  expect(one).toEqual(other);
});

test('a service whose embedded database dies starts it again', async () => {
  const service = createCountsService({ directory: join(folder, 'postgres') });
  await service.api.internal.initialize('item', 0n);
  await service.api.external.increase('item', 1n);
  const pid = await postmasterPid(join(folder, 'postgres'));
  process.kill(pid, 'SIGQUIT');
  await until(async () => {
    const [outcome] = await Promise.allSettled([service.api.external.increase('item', 0n)]);
    return outcome!.status === 'fulfilled' && !isAlive(pid);
  });
  expect((await service.api.internal.get('item')).currentValue).toBe(1n);
  await service.stop();
});

test('a service that is never used starts no database', async () => {
  const service = createCountsService({ directory: join(folder, 'postgres') });
  await service.stop();
  await expect(access(join(folder, 'postgres'))).rejects.toThrow('ENOENT');
});

test('when the process that started it is killed, it stops, and the next one takes over', async () => {
  const directory = join(folder, 'postgres');
  const owner = startOwner(directory);
  await new Promise<void>((resolve) => owner.stdout!.once('data', () => resolve()));
  const pid = await postmasterPid(directory);
  const scratch = basename(await socketFolder(directory));
  owner.kill('SIGKILL');
  await until(() => !isAlive(pid));
  await until(async () => !(await readdir(tmpdir())).includes(scratch));
  expect(await ask(embedded(directory), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

/** A process that starts the database as `npm run build` made it and then does nothing. */
function startOwner(directory: string): ChildProcess {
  const built = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
  const script = `
    import { EmbeddedPostgres } from ${JSON.stringify(built)};
    await new EmbeddedPostgres({ directory: ${JSON.stringify(directory)} }).start();
    console.log('started');
    setInterval(() => undefined, 1000);
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The fifth line of the file says where the socket is. */
async function socketFolder(directory: string): Promise<string> {
  return (await readFile(join(directory, 'postmaster.pid'), 'utf8')).split('\n')[4]!;
}

async function postmasterPid(directory: string): Promise<number> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8');
  return Number(text.split('\n')[0]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
