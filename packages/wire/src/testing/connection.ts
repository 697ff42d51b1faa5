import { ByteInput } from '@quotadb/engine';
import { ParseResult, type PartialRequest, type RequestParser } from '../resp/request-parser.js';

/** Left over behind the end of a buffer that was used before; they would finish any line, were they looked at. */
const STALE_BYTES = Buffer.from('1\r\n1\r\n1\r\n');

/** One client's side of a parser that may be shared: the bytes it keeps, and how far they were read. */
export class TestConnection {
  readonly commands: Uint8Array[][] = [];
  failure: string | undefined;
  partial: PartialRequest | undefined;
  /** The bytes that are kept because their command is incomplete. */
  rest: Uint8Array = new Uint8Array(0);

  private readonly parser: RequestParser;
  private pieces = 0;

  constructor(parser: RequestParser) {
    this.parser = parser;
  }

  /** Puts the piece behind the rest, at a different place each time, and reads what there is. */
  receive(piece: Uint8Array): void {
    if (this.failure !== undefined) return;
    const from = (this.pieces++ % 3) * 5;
    const end = from + this.rest.length + piece.length;
    const bytes = new Uint8Array(end + STALE_BYTES.length);
    bytes.set(STALE_BYTES, end);
    bytes.set(this.rest, from);
    bytes.set(piece, from + this.rest.length);
    this.read(new ByteInput(bytes), from, end);
  }

  read(input: ByteInput, from: number, end: number): void {
    const parser = this.parser;
    let position = from;
    parser.foreignSearchedTo = from;
    if (this.partial !== undefined) parser.resume(this.partial);
    this.partial = undefined;
    for (;;) {
      const result = parser.next(input, position, end);
      if (result === ParseResult.Failed || result === ParseResult.Foreign) {
        this.failure = result === ParseResult.Failed ? parser.failure : 'foreign';
        return;
      }
      position = parser.position;
      if (position > end) throw new Error(`the parser went to ${position}, past the end at ${end}`);
      if (result === ParseResult.Incomplete) break;
      this.commands.push(argumentsOf(parser));
    }
    this.partial = parser.suspend();
    this.rest = input.bytes.slice(position, end);
  }
}

function argumentsOf(request: RequestParser): Uint8Array[] {
  return Array.from({ length: request.argumentCount }, (_, index) => {
    const start = request.argumentStart[index];
    return request.input.bytes.slice(start, start + request.argumentLength[index]);
  });
}

/** A command as clients send it. */
export function encodeCommand(parts: readonly (string | Uint8Array)[]): Uint8Array {
  const chunks: Uint8Array[] = [Buffer.from(`*${parts.length}\r\n`)];
  for (const part of parts) {
    const bytes = Buffer.from(part as Uint8Array);
    chunks.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return new Uint8Array(Buffer.concat(chunks));
}
