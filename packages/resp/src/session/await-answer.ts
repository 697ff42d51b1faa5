import { errors } from '../errors/errors.js';
import type { Refused } from '../services/held-replies.js';
import type { Call } from './command.js';

/**
 * The one way for a command to wait for an answer: this connection waits, its lane goes on. `ask` starts the request;
 * `finish` writes the reply when the answer is there. It gets undefined where no answer came within `withinMs`, and
 * inside EXEC, where commands do not wait: then `ask` was not called.
 */
export function awaitAnswer<Answer>(
  call: Call,
  withinMs: number,
  ask: (answered: (answer: Answer) => void) => void,
  finish: (call: Call, answer: { readonly value: Answer } | undefined) => void,
): void {
  const { client } = call;
  let answer: { readonly value: Answer } | undefined;
  let isOver = false;
  call.suspend(withinMs, (resumed) => {
    isOver = true;
    finish(resumed, answer);
  });
  if (isOver) return;
  // Not a blocking command as WAIT is: the client waits for a service of the server.
  client.blocked = false;
  ask((value) => {
    if (isOver) return;
    answer = { value };
    client.connection.wake();
  });
}

/** Replies with the refusal of the main thread; as where replies are held, too few copies end the connection. */
export function replyRefused({ reply, client }: Call, { error, cause }: Refused): void {
  const isUnreplicated = cause === 'not_replicated';
  reply.error(isUnreplicated ? errors.notReplicated(error) : errors.quota(error));
  if (isUnreplicated) client.closing = true;
}
