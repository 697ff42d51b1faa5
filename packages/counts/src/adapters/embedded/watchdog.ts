import { type ChildProcess, spawn } from 'node:child_process';
import { childEnvironment } from './environment.js';

/**
 * PostgreSQL does not notice when the process that started it is killed, and would keep the data directory to itself.
 * The watchdog waits for the end of a pipe that this process holds open, which comes however this process ends, and
 * then asks PostgreSQL to stop and clears its temporary files away.
 */
const SCRIPT = `
  while read -r _; do :; done
  kill -INT "$1" 2>/dev/null
  while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
  rm -rf -- "$2"
`;

export function watchOver(pid: number, scratch: string): ChildProcess {
  const watchdog = spawn('/bin/sh', ['-c', SCRIPT, 'quotadb-postgres-watchdog', String(pid), scratch], {
    // In a session of its own, so that an interrupt typed at the terminal does not reach it.
    detached: true,
    env: childEnvironment(),
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.on('error', () => undefined);
  watchdog.stdin!.on('error', () => undefined);
  watchdog.unref();
  (watchdog.stdin as unknown as { unref(): void }).unref();
  return watchdog;
}
