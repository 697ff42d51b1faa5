import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pinToCore } from '../machine/pin.js';
import type { LoadJob, LoadReport, LoadResult } from './load-job.js';

/** Built code, also when this file runs from source: processes are started from what `npm run build` made. */
const ENTRY = fileURLToPath(new URL('../../dist/load/load-process.js', import.meta.url));

/**
 * Runs a job in a process of its own, so that the bench's own work never delays a reply it is timing. Where the caller
 * names a core, and the machine can do it, the process stays on that core.
 */
export function runLoad(job: LoadJob, signal: AbortSignal, core?: number): Promise<LoadResult> {
  return runLoadProcess(ENTRY, job, signal, core);
}

/** The same for a load of another kind, with an entry point of its own. */
export function runLoadProcess(entry: string, job: object, signal: AbortSignal, core?: number): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const child = fork(entry, [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'], signal });
    if (core !== undefined && child.pid !== undefined) pinToCore(child.pid, core);
    let report: LoadReport | undefined;
    child.once('message', (message) => {
      report = message as LoadReport;
    });
    child.once('error', reject);
    child.once('exit', (code, killedBy) => {
      if (report === undefined)
        reject(new Error(`the load generator ended early (${killedBy ?? `exit code ${code}`})`));
      else if ('error' in report) reject(new Error(report.error));
      else resolve(report.result);
    });
    child.send(job);
  });
}
