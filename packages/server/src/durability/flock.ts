import { createRequire } from 'node:module';
import type { Flock } from '@quotadb/storage';

const LOCK_EXCLUSIVE_NOW = 2 | 4;

/** The system's own lock on files, through koffi; undefined where it cannot be loaded. */
export function loadFlock(): Flock | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const flock = koffi.load('libc.so.6').func('int flock(int fd, int operation)');
    return (fd) => flock(fd, LOCK_EXCLUSIVE_NOW) === 0;
  } catch {
    return undefined;
  }
}
