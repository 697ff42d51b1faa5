import { StoreBusy } from '@quotadb/engine';
import { errors } from '../errors/errors.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { refusal, refusalInTransaction } from './permission.js';

/** Refuses a command without running it. Inside MULTI that breaks the transaction; a refused EXEC ends it. */
export function reject(call: Call, entry: CommandEntry | undefined, message: string): void {
  const { client, server } = call;
  if (entry !== undefined) server.statistics.commands.rejected[entry.id]++;
  if (entry?.fullName === 'exec') {
    client.transaction = undefined;
    replyError(call, errors.transactionAborted(message));
    return;
  }
  if (client.transaction !== undefined) client.transaction.broken = true;
  replyError(call, message);
}

/** As Redis: a command that is sent elsewhere breaks its transaction, and an EXEC ends it. */
export function redirect(call: Call, entry: CommandEntry, message: string): void {
  if (entry.fullName !== 'exec') {
    reject(call, entry, message);
    return;
  }
  call.server.statistics.commands.rejected[entry.id]++;
  call.client.transaction = undefined;
  replyError(call, message);
}

/** Whether the client may not run the command; it has got the reason. */
export function isRefused(call: Call, entry: CommandEntry): boolean {
  const reason = refusal(call.client, entry, call.request);
  if (reason !== undefined) reject(call, entry, reason);
  return reason !== undefined;
}

/** The same inside EXEC, whose other commands go on. */
export function isRefusedInTransaction(call: Call, entry: CommandEntry): boolean {
  const reason = refusalInTransaction(call.client, entry, call.request);
  if (reason === undefined) return false;
  call.server.statistics.commands.rejected[entry.id]++;
  replyError(call, reason);
  return true;
}

/** An error that does not come from a command that runs: it is counted here. */
export function replyError({ reply, server }: Call, message: string): void {
  reply.error(message);
  server.statistics.errors.count(message.split(' ', 1)[0]);
}

/** The command could not have a lock that a slow script holds. It has changed nothing: it had no lock yet. */
export function rejectBusy({ engine, reply, executing }: Call, error: unknown, replyStart: number): void {
  if (!(error instanceof StoreBusy) || executing) throw error;
  engine.releaseLocks();
  reply.truncate(replyStart);
  reply.error(errors.busy);
}
