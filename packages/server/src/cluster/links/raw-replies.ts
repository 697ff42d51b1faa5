import { ReplyError } from '@quotadb/client';
import { type Reply, type ReplyBuilder, ReplyType } from '@quotadb/client/resp';

/** Replies as the bytes that they came in, as latin1 text, so that they can be passed on; errors stay errors. */
export const rawReplies: ReplyBuilder<Reply> = {
  line: (type, bytes, start, end) =>
    type === ReplyType.Error
      ? new ReplyError(bytes.toString('utf8', start, end))
      : `${String.fromCharCode(type)}${bytes.toString('latin1', start, end)}\r\n`,
  bulk: (type, bytes, start, end) =>
    `${String.fromCharCode(type)}${end - start}\r\n${bytes.toString('latin1', start, end)}\r\n`,
  missing: (type) => `${String.fromCharCode(type)}-1\r\n`,
  aggregate: (type, items) => {
    const count = type === ReplyType.Map ? items.length / 2 : items.length;
    return `${String.fromCharCode(type)}${count}\r\n${items.map(printed).join('')}`;
  },
};

function printed(item: Reply): string {
  return item instanceof ReplyError ? `-${Buffer.from(item.message).toString('latin1')}\r\n` : (item as string);
}

const LF = 0x0a;

/** The text in `$5 CR LF hello CR LF`. */
export function textOfBulk(reply: Uint8Array): string {
  const start = reply.indexOf(LF) + 1;
  return Buffer.from(reply.buffer, reply.byteOffset + start, Math.max(0, reply.length - start - 2)).toString();
}
