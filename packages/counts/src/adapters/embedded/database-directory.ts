import { execFile } from 'node:child_process';
import { access, chmod, chown, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, canReach } from './account.js';
import { childEnvironment } from './environment.js';

const run = promisify(execFile);

/** How PostgreSQL gets the place of its files: a name, seen from a working directory. */
export interface Place {
  readonly name: string;
  readonly cwd: string;
}

/**
 * Makes the database unless it is there. It is made beside its place and then moved, so half of one is never taken for
 * it.
 */
export async function ensureDatabase(native: string, directory: string, account: Account | undefined): Promise<void> {
  if (await exists(join(directory, 'PG_VERSION'))) return;
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await chmod(unfinished, 0o700);
  if (account !== undefined) await chown(unfinished, account.uid, account.gid);
  const place = await placeOf(unfinished, account);
  const settings = ['--auth=trust', '--username=quotadb', '--encoding=UTF8', '--locale=C'];
  await run(join(native, 'bin', 'initdb'), ['-D', place.name, ...settings], {
    ...account,
    cwd: place.cwd,
    env: childEnvironment(),
  });
  await rename(unfinished, directory);
}

/**
 * As root, the data directory may lie below a folder that PostgreSQL's account cannot enter (/root usually is one). A
 * process that is started inside it can still call it by its working directory.
 */
export async function placeOf(directory: string, account: Account | undefined): Promise<Place> {
  if (account === undefined || (await canReach(account, directory))) return { name: directory, cwd: directory };
  if (process.platform !== 'linux') throw new Error(`PostgreSQL's account cannot reach ${directory}.`);
  return { name: '/proc/self/cwd', cwd: directory };
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
