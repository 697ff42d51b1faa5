import { errors } from '../../errors/errors.js';
import type { QuotaAnswer, QuotaRequest } from '../../services/lane-quotas.js';
import { awaitAnswer, replyRefused } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

/** Asks the main thread, which bounds the wait; inside EXEC the command is refused. */
export function askQuotas(call: Call, request: QuotaRequest, finish: (call: Call, value: never) => void): void {
  awaitAnswer<QuotaAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => call.server.askMain('quotas', request, answered),
    (resumed, answer) => {
      if (answer === undefined)
        resumed.reply.error(resumed.executing ? errors.quotaInTransaction : errors.quotaStopping);
      else if ('error' in answer.value) replyRefused(resumed, answer.value);
      else finish(resumed, answer.value.value as never);
    },
  );
}
