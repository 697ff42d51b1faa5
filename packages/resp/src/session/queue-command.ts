import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { reject } from './rejection.js';
import type { Transaction } from './transaction.js';

/** Inside MULTI: the command waits for EXEC, is refused, or is more than the client may have waiting. */
export function queueCommand(call: Call, transaction: Transaction, entry: CommandEntry): void {
  const { client, reply, request, server } = call;
  const mistake = transaction.add(entry, request);
  if (mistake !== undefined) {
    reject(call, entry, mistake);
  } else if (transaction.bytes > server.config.queryBufferLimitBytes) {
    server.statistics.queryLimitDisconnections++;
    client.closing = true;
  } else {
    reply.simple('QUEUED');
  }
}
