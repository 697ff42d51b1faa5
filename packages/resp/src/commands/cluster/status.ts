import { errors } from '../../errors/errors.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

/** Groups, members, slots and moves, as JSON: `quotadb status` shows it. */
export function clusterStatus(call: Call): void {
  awaitAnswer<string>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => call.server.askMain('clusterStatus', null, answered),
    ({ reply }, answer) => {
      if (answer === undefined) reply.error(errors.forwardStopped);
      else reply.bulkText(answer.value);
    },
  );
}
