import { errors } from '../../errors/errors.js';
import { copyArgument, textArgument } from '../../request/arguments.js';
import type { MovingAnswer } from '../../services/main-services.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

/** The mover of another node waits no longer than this for any step. */
const PATIENCE_MS = 15_000;

/** CLUSTER MOVING step about [entries]: a step of a move, which the main thread checks and makes. */
export function clusterMoving(call: Call): void {
  const { client, reply, request, server } = call;
  if (!client.isNode) {
    reply.error(errors.movingNodesOnly);
    return;
  }
  const entries = request.argumentCount > 4 ? copyArgument(request, 4) : new Uint8Array(0);
  const asked = { step: textArgument(request, 2), about: textArgument(request, 3), entries };
  awaitAnswer<MovingAnswer>(
    call,
    PATIENCE_MS,
    (answered) => server.askMain('moving', asked, answered),
    (resumed, answer) => {
      if (answer === undefined) resumed.reply.error(errors.forwardStopped);
      else if ('error' in answer.value) resumed.reply.error(answer.value.error);
      else resumed.reply.bulkText(answer.value.answer);
    },
  );
}
