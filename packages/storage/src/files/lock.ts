import { closeSync, ftruncateSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from './errors.js';

/** True when the lock was taken; false when another process has it. The system gives it back when a process ends. */
export type Flock = (fd: number) => boolean;

const LOCK = 'lock';

/**
 * Lets one process use a data directory; returns a function that unlocks it. Where flock is available it decides, and a
 * killed process leaves no lock behind. Elsewhere the file names its holder by process id and start time; a holder that
 * is not running any more is ignored.
 */
export function lockDirectory(directory: string, flock: Flock | undefined): () => void {
  const path = join(directory, LOCK);
  return flock === undefined ? lockByName(path, directory) : lockByFlock(path, directory, flock);
}

function lockByFlock(path: string, directory: string, flock: Flock): () => void {
  const fd = openSync(path, 'a+', 0o640);
  if (!flock(fd)) {
    closeSync(fd);
    throw inUse(directory, holderOf(path)?.pid);
  }
  writeHolder(fd);
  return () => closeSync(fd);
}

function lockByName(path: string, directory: string): () => void {
  const create = () => {
    const fd = openSync(path, 'wx', 0o640);
    writeHolder(fd);
    return () => {
      unlinkSync(path);
      closeSync(fd);
    };
  };
  try {
    return create();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = holderOf(path);
  if (holder !== undefined && isRunning(holder)) throw inUse(directory, holder.pid);
  unlinkSync(path);
  return create();
}

function writeHolder(fd: number): void {
  ftruncateSync(fd, 0);
  writeSync(fd, `${process.pid} ${startTimeOf(process.pid) ?? ''}\n`, 0);
}

function inUse(directory: string, pid: number | undefined): StorageError {
  const by = pid === undefined ? 'another process' : `process ${pid}`;
  return new StorageError(`the data directory ${directory} is in use by ${by}; a directory serves one process`);
}

interface Holder {
  readonly pid: number;
  readonly startTime: string;
}

function holderOf(path: string): Holder | undefined {
  const match = /^(\d+) (\d*)/.exec(readFileSync(path, 'utf8'));
  return match === null ? undefined : { pid: Number(match[1]), startTime: match[2] };
}

function isRunning({ pid, startTime }: Holder): boolean {
  if (pid === process.pid) return true;
  const started = startTimeOf(pid);
  // A process id is reused; the start time distinguishes the two processes.
  if (started !== undefined) return startTime === '' || started === startTime;
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux: field 22 of /proc/PID/stat, ticks since the machine was started; undefined where there is no such file. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
