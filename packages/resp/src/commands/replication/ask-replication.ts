import { errors } from '../../errors/errors.js';
import type { ReplicationAnswer, ReplicationRequest } from '../../services/lane-replication.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';

const PATIENCE_MS = 10_000;

/** Asks the main thread, which runs replication. */
export function askReplication(
  call: Call,
  request: ReplicationRequest,
  finish: (call: Call, value: unknown) => void,
): void {
  awaitAnswer<ReplicationAnswer>(
    call,
    PATIENCE_MS,
    (answered) => call.server.askMain('replication', request, answered),
    (resumed, answer) => {
      if (answer === undefined) resumed.reply.error(errors.replicationLate(PATIENCE_MS));
      else if ('error' in answer.value) resumed.reply.error(errors.replication(answer.value.error));
      else finish(resumed, answer.value.value);
    },
  );
}
