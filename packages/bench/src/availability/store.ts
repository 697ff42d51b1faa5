import { setTimeout as delay } from 'node:timers/promises';
import type { ServerProcess } from '../servers/server-process.js';

/** Servers that hold the same keys, one of which can be killed and started again. */
export interface KillableStore {
  readonly version: string;
  readonly ports: readonly number[];
  /** Ends a server that takes writes with SIGKILL; returns when it is gone. */
  kill(round: number): Promise<void>;
  /** Starts it again, and waits until the store is whole. */
  restart(): Promise<void>;
}

export interface Side {
  readonly name: string;
  readonly servers: number;
  readonly start: () => Promise<KillableStore>;
  /** What was acknowledged must be there before the killed server is back. */
  readonly isSafeAtOnce: boolean;
}

const WHOLE_WITHIN_MS = 120_000;
const POLL_MS = 50;

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + WHOLE_WITHIN_MS;
  while (!(await isTrue().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`${what} did not happen within ${WHOLE_WITHIN_MS / 1000} s`);
    await delay(POLL_MS);
  }
}

export async function killProcess(server: ServerProcess): Promise<void> {
  process.kill(server.pid, 'SIGKILL');
  await server.stop();
}
