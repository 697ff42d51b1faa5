import { lstat, mkdir, readdir } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}$/;

/**
 * Makes the directory of a new backup, which is right in the directory for backups: `given` is its name, or its whole
 * path. A client must not choose where else on the machine a server writes; and in some file systems of the kernel
 * (/proc), making a directory with its parents never ends, so parents are not made.
 */
export async function makeBackupDirectory(backupsPath: string, given: string): Promise<string> {
  const backups = resolve(backupsPath);
  const path = resolve(backups, given);
  if (dirname(path) !== backups || !NAME.test(basename(path)))
    throw new Error(`backups are written to ${backups} (--backup-dir): give a name of letters, digits and "_.+-"`);
  await makeUnlessThere(backups);
  await makeUnlessThere(path);
  // A link could lead anywhere.
  if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is no directory`);
  if ((await readdir(path)).length > 0) throw new Error(`${path} is not empty`);
  return path;
}

async function makeUnlessThere(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o750 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
