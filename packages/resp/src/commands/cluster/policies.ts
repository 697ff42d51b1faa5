import { errors } from '../../errors/errors.js';
import { textArgument } from '../../request/arguments.js';
import type { QuotaAnswer } from '../../services/lane-quotas.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

/** The main thread bounds the wait. */
export function clusterPolicies(call: Call): void {
  const { request, server } = call;
  const asked = { digest: textArgument(request, 2), changes: textArgument(request, 3) };
  awaitAnswer<QuotaAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => server.askMain('policies', asked, answered),
    ({ reply }, answer) => {
      if (answer === undefined) reply.error(errors.forwardStopped);
      else if ('error' in answer.value) reply.error(errors.quota(answer.value.error));
      else reply.bulkText(answer.value.value as string);
    },
  );
}
