import { Need } from '@quotadb/config';
import type { Request } from '@quotadb/wire';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { copyRequest } from './transaction.js';

/** A call whose command can begin later. */
export interface PostponedCall extends Call {
  /** The command of this request, a copy, begins: as when it came, but for the time. */
  beginAnew(request: Request): void;
}

/** Whether clients are paused (CLIENT PAUSE): the command begins when that is over. */
export function isPostponed(call: PostponedCall, entry: CommandEntry): boolean {
  const { client } = call;
  const waitMs = postponedMs(call, entry);
  if (waitMs <= 0) return false;
  const request = copyRequest(call.request);
  client.isPostponed = true;
  call.suspend(waitMs, () => {
    client.isPostponed = false;
    call.beginAnew(request);
  });
  client.blocked = false;
  return true;
}

/** How long; 0 or less where it runs now. */
function postponedMs({ client, server }: Call, entry: CommandEntry): number {
  const pauses = entry.needs & client.lacks & (Need.noPause | Need.noWritePause);
  if (pauses === 0) return 0;
  // EXEC counts as what it runs.
  const isExec = entry.fullName === 'exec';
  if (pauses === Need.noWritePause && isExec && client.transaction?.hasWrites !== true) return 0;
  return server.clients.pauseMs(server.clock.monotonic());
}
