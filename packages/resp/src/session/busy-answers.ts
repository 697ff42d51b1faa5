import { ParseResult, type PartialRequest, ReplyWriter, type Request, RequestParser } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import type { Backlog } from './backlog.js';
import { type Client, ReplyMode } from './client.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import type { Lane } from './lane.js';
import { refusal } from './permission.js';
import { reject } from './rejection.js';
import { unknownCommand, unknownSubcommand } from './unknown.js';

/**
 * The answers of a lane that is in a script which runs for long: BUSY, but for the commands that end such a script. The
 * script's session has the lane's buffers, so there are others here.
 */
export class BusyAnswers {
  readonly parser: RequestParser;
  readonly reply = new ReplyWriter();
  private readonly lane: Lane;

  constructor(lane: Lane) {
    this.lane = lane;
    this.parser = new RequestParser({ maximumBulkBytes: lane.maximumBulkBytes });
  }

  /** Answers the whole commands of a backlog and takes them out; returns what was read of the next. */
  answerAll(client: Client, backlog: Backlog, partial: PartialRequest | undefined): PartialRequest | undefined {
    const { parser } = this;
    let position = backlog.start;
    parser.foreignSearchedTo = position;
    parser.authenticated = client.authenticated;
    if (partial !== undefined) parser.resume(partial);
    let result = parser.next(backlog.input, position, backlog.end);
    for (; result === ParseResult.Complete; result = parser.next(backlog.input, position, backlog.end)) {
      position = parser.position;
      this.answer(client);
    }
    const rest = result === ParseResult.Incomplete ? parser.suspend() : undefined;
    backlog.consumeTo(position);
    // A client that sends nonsense is refused in its next turn.
    return rest;
  }

  /** Answers the command that the parser has read. */
  private answer(client: Client): void {
    const { reply } = this;
    const start = reply.length;
    reply.protocol = client.protocol;
    this.run(client);
    if (client.replyMode !== ReplyMode.On) reply.truncate(start);
  }

  /** Runs the command, or says why not. */
  private run(client: Client): void {
    const request: Request = this.parser;
    const { engine, server } = this.lane;
    const { bytes } = request.input;
    const call: Call = {
      request,
      reply: this.reply,
      engine,
      client,
      server,
      executing: true,
      suspend: (_, finish) => finish(call),
      runQueued: () => {},
    };
    const named = server.commands.index.find(bytes, request.argumentStart[0], request.argumentLength[0]);
    const isContainer = named?.subcommands !== undefined && request.argumentCount > 1;
    const entry = isContainer
      ? named.subcommands.find(bytes, request.argumentStart[1], request.argumentLength[1])
      : named;
    const mistake = this.mistakeIn(client, entry, isContainer);
    if (mistake === undefined) entry?.run?.(call);
    else reject(call, entry ?? named, mistake);
  }

  private mistakeIn(client: Client, entry: CommandEntry | undefined, isContainer: boolean): string | undefined {
    const request: Request = this.parser;
    if (entry === undefined) return isContainer ? unknownSubcommand(request) : unknownCommand(request);
    const { argumentCount } = request;
    if (argumentCount < entry.minimumArguments || argumentCount > entry.maximumArguments)
      return errors.wrongArity(entry.fullName, entry.usage);
    const refused = (entry.needs & client.lacks) !== 0 ? refusal(client, entry, request) : undefined;
    return refused ?? (entry.allowedWhileBusy ? undefined : errors.busy);
  }
}
