import { type ReplyBuilder, ReplyType } from '@quotadb/client/resp';

/** A reply as the bytes that were sent, for tests that compare two servers byte by byte. */
export interface Frame {
  readonly type: string;
  /** The whole reply, a character for each byte. */
  readonly wire: string;
  /** Of a line: the text behind the type. Of a bulk string: its content. Of an aggregate: its length. */
  readonly text: string;
  readonly children: readonly Frame[];
}

/** The reader takes a length in one spelling only, so a header that is written anew has the bytes that were sent. */
export const frameBuilder: ReplyBuilder<Frame> = {
  line(code, bytes, start, end) {
    const text = bytes.toString('latin1', start, end);
    return frame(code, text, `${text}\r\n`);
  },
  bulk(code, bytes, start, end) {
    const text = bytes.toString('latin1', start, end);
    return frame(code, text, `${text.length}\r\n${text}\r\n`);
  },
  missing: (code) => frame(code, '-1', '-1\r\n'),
  aggregate(code, children) {
    const length = code === ReplyType.Map ? children.length / 2 : children.length;
    return frame(code, String(length), `${length}\r\n${children.map(({ wire }) => wire).join('')}`, children);
  },
};

function frame(code: number, text: string, rest: string, children: readonly Frame[] = []): Frame {
  const type = String.fromCharCode(code);
  return { type, wire: type + rest, text, children };
}
