import { errors } from '../../errors/errors.js';
import { copyArgument, textArgument } from '../../request/arguments.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

/** Operations of HTTP have the roles that their declarations say, and the main thread checks them for this user. */
export function runOperation(call: Call): void {
  const { client, request, server } = call;
  const asked = {
    method: textArgument(request, 2),
    target: textArgument(request, 3),
    body: copyArgument(request, 4),
    user: client.user?.name ?? '',
  };
  awaitAnswer<string>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => server.askMain('operation', asked, answered),
    ({ reply }, answer) => {
      if (answer === undefined) reply.error(errors.forwardStopped);
      else reply.bulkText(answer.value);
    },
  );
}
