import { errors } from '../../errors.js';
import type { ReplicationAnswer, ReplicationRequest } from '../../replication/replication-link.js';
import type { Call } from '../command.js';

/** Whoever asked has waited long enough then. */
const PATIENCE_MS = 10_000;

/** Asks the thread that replicates; this connection waits for the answer, its lane goes on. */
export function askReplication(
  call: Call,
  request: ReplicationRequest,
  finish: (call: Call, value: unknown) => void,
): void {
  const { client, server } = call;
  let answer: ReplicationAnswer | undefined;
  let finished = false;
  call.suspend(PATIENCE_MS, (resumed) => {
    finished = true;
    if (answer === undefined) resumed.reply.error(errors.replication('it took too long'));
    else if ('error' in answer) resumed.reply.error(errors.replication(answer.error));
    else finish(resumed, answer.value);
  });
  // It waits for us, not for anything it asked to wait for.
  client.blocked = false;
  server.replication.ask(request, (given) => {
    answer = given;
    if (!finished) client.connection.wake();
  });
}
