import { ReplyMode } from './client.js';
import type { Call } from './command.js';

/** Takes back the reply of a command of a client that wants none (CLIENT REPLY), and chooses the mode of the next. */
export function silence({ client, reply }: Call, replyStart: number, isWaiting: boolean): void {
  reply.truncate(replyStart);
  if (client.replyMode === ReplyMode.SkipNext) client.replyMode = ReplyMode.Skip;
  else if (client.replyMode === ReplyMode.Skip && !isWaiting) client.replyMode = ReplyMode.On;
}
