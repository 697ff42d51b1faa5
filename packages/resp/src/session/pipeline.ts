import { type ByteInput, type Engine, ReadAhead } from '@quotadb/engine';
import { ParseResult, RequestParser } from '@quotadb/wire';
import type { CommandEntry, CommandIndex } from './command-index.js';

/**
 * Requests of one client that are read before the first of them runs, so that the engine waits for the memory of all
 * their keys at once (engine/keys/read-ahead.ts). They run one by one, and what they do does not depend on how many
 * were read. Each has a parser of its own, which is the request.
 */
export class Pipeline {
  /** Less input than this has few requests. */
  static readonly USEFUL_FROM_BYTES = 256;

  readonly parsers: readonly RequestParser[];
  readonly entries: (CommandEntry | undefined)[];
  /** The result of the last parser that was asked: Complete, or why there are no more requests. */
  result: ParseResult = ParseResult.Complete;
  /** See RequestParser. */
  foreignSearchedTo = 0;
  /** For each request the number of its key in what the engine reads ahead; -1 where it has none there. */
  private readonly keys = new Int32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly ahead: ReadAhead;
  private readonly index: CommandIndex;

  /** The first parser is also the one that reads requests one by one. */
  constructor(first: RequestParser, maximumBulkBytes: number, engine: Engine, index: CommandIndex) {
    const others = Array.from({ length: ReadAhead.MAXIMUM_KEYS - 1 }, () => new RequestParser({ maximumBulkBytes }));
    this.parsers = [first, ...others];
    this.entries = this.parsers.map(() => undefined);
    this.ahead = engine.ahead;
    this.index = index;
  }

  /** Reads requests of input.bytes[from..end), of a client that has logged in. Returns how many are complete. */
  read(input: ByteInput, from: number, end: number): number {
    const { parsers, ahead } = this;
    ahead.clear();
    let position = from;
    let count = 0;
    do {
      const parser = parsers[count];
      parser.authenticated = true;
      parser.foreignSearchedTo = this.foreignSearchedTo;
      this.result = parser.next(input, position, end);
      this.foreignSearchedTo = parser.foreignSearchedTo;
      if (this.result !== ParseResult.Complete) break;
      this.keys[count] = this.addKey(parser, count);
      position = parser.position;
      count++;
    } while (count < parsers.length);
    ahead.read();
    return count;
  }

  /** The request with this number runs now. */
  expect(number: number): void {
    this.ahead.expect(this.keys[number]);
  }

  private addKey(request: RequestParser, number: number): number {
    const { argumentStart, argumentLength } = request;
    const entry = this.index.findIn(request.input, argumentStart[0], argumentLength[0]);
    if (this.entries[number] !== entry) this.entries[number] = entry;
    if (entry === undefined || !entry.opensFirst || request.argumentCount < 2) return -1;
    return this.ahead.add(request.input, argumentStart[1], argumentLength[1]);
  }
}
