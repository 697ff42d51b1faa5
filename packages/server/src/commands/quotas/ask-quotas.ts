import { errors } from '../../errors.js';
import type { QuotaAnswer, QuotaRequest } from '../../quotas/quota-link.js';
import type { Call } from '../command.js';

/**
 * Asks the thread that keeps quotas; this connection waits, and its lane goes on. Always answered: that thread bounds how
 * long anybody waits. Inside MULTI nothing waits: the command is refused.
 */
export function askQuotas(call: Call, request: QuotaRequest, finish: (call: Call, value: never) => void): void {
  const { server, client } = call;
  let answer: QuotaAnswer | undefined;
  let isOver = false;
  call.suspend(Number.POSITIVE_INFINITY, (resumed) => {
    isOver = true;
    if (answer === undefined) resumed.reply.error(errors.quotaInTransaction);
    else if ('error' in answer) resumed.reply.error(errors.quota(answer.error));
    else finish(resumed, answer.value as never);
  });
  if (isOver) return;
  // It waits for us, not for anything it asked to wait for.
  client.blocked = false;
  server.quotas.ask(request, (heard) => {
    answer = heard;
    if (!isOver) client.connection.wake();
  });
}
