import { ProblemError } from '@quotadb/http';
import type { ServerState } from '@quotadb/resp';
import { serverProblems } from './problems.js';

/** Resolves when all changes made so far are as durable as this server promises before it answers. */
export function waitForDisk({ disk }: ServerState): Promise<void> {
  if (!disk.isOn) return Promise.resolve();
  return new Promise((resolve, reject) => {
    disk.hold({
      durable: (isDurable) => (isDurable ? resolve() : reject(new ProblemError(serverProblems.disk_failed))),
    });
  });
}
