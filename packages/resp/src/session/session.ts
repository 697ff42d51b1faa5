import { Need } from '@quotadb/config';
import type { ByteInput, Engine } from '@quotadb/engine';
import { ParseResult, type PartialRequest, type ReplyWriter, type Request, type RequestParser } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import type { CommandStatistics } from '../statistics/command-statistics.js';
import { Backlog } from './backlog.js';
import type { BusyAnswers } from './busy-answers.js';
import { type Client, ReplyMode } from './client.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { isHere, type RoutedCall } from './elsewhere.js';
import { isHeldBack } from './held-back.js';
import { Lane } from './lane.js';
import { Pipeline } from './pipeline.js';
import { isPostponed } from './postpone.js';
import { isRefused, isRefusedInTransaction, reject, rejectBusy, replyError } from './rejection.js';
import type { ServerState } from './server-state.js';
import { silence } from './silence.js';
import { type QueuedCommand, requestOf } from './transaction.js';
import type { TurnTiming } from './turn-timing.js';
import { unknownCommand, unknownSubcommand } from './unknown.js';

/**
 * One connection's half of the conversation, without the network: bytes in, replies out.
 *
 *   receive(bytes)   runs every command that is complete; the replies are in lane.reply, to be taken at once
 *   waitMs           0 or more: a command waits; call resume() after this number of milliseconds
 *   hasMore          commands are left because this turn was long enough: call resume() after the turns of others
 *   client.closing   send the replies, then close
 *
 * While a command waits or commands are left, received bytes are kept for later, and the transport should stop reading.
 */
export class Session implements RoutedCall {
  static readonly NOT_WAITING = -1;
  /** Past this, replies are sent before more commands run: a pipeline of large replies must not fill the memory. */
  static readonly TURN_OUTPUT_BYTES = 256 * 1024;
  /** After this time in costly commands, a session gives way to other connections. */
  static readonly TURN_MICROSECONDS = 5000;

  readonly client: Client;
  readonly server: ServerState;
  readonly engine: Engine;
  readonly reply: ReplyWriter;
  /** The running command: the parser's, or one that MULTI queued. */
  request: Request;

  waitMs = Session.NOT_WAITING;
  hasMore = false;

  private readonly lane: Lane;
  private readonly timing: TurnTiming;
  private readonly commandStatistics: CommandStatistics;
  private readonly backlog = new Backlog();
  private partial: PartialRequest | undefined = undefined;
  /** Bytes at the beginning of the backlog without a line of another protocol; see RequestParser. */
  private searchedAhead = 0;
  private finish: ((call: Call) => void) | undefined = undefined;
  executing = false;

  constructor(lane: Lane, client: Client) {
    this.lane = lane;
    this.timing = lane.timing;
    this.commandStatistics = lane.server.statistics.commands;
    this.client = client;
    this.server = lane.server;
    this.engine = lane.engine;
    this.reply = lane.reply;
    this.request = lane.parser;
  }

  receive(bytes: Uint8Array): void {
    const staged = this.stage();
    if (bytes.length > Lane.READ_BYTES) {
      this.count(bytes.length);
      this.enqueue(bytes);
    } else {
      this.lane.input.bytes.set(bytes, staged);
      this.receiveStaged(staged, bytes.length);
    }
  }

  /**
   * For transports that read right into the lane's input: the position for the next bytes, up to Lane.READ_BYTES of
   * them. The unfinished command of this connection has been copied in front of it.
   */
  stage(): number {
    const { backlog, lane } = this;
    const kept = backlog.length;
    if (kept === 0 || kept > Lane.STAGED_BYTES || !this.canWork()) return 0;
    lane.input.bytes.set(backlog.input.bytes.subarray(backlog.start, backlog.end));
    return kept;
  }

  /** `length` bytes have been put at the position from stage(), and no other session has run since. */
  receiveStaged(staged: number, length: number): void {
    const { backlog, lane } = this;
    const { input } = lane;
    this.count(length);
    const end = staged + length;
    if (staged !== backlog.length || !this.canWork()) {
      this.enqueue(input.bytes.subarray(staged, end));
      return;
    }
    backlog.clear();
    const position = this.turn(input, 0, end);
    if (position < end) backlog.append(input.bytes.subarray(position, end));
    this.boundInput();
  }

  /** While a script of another session keeps the lane: answers the commands in these bytes without a turn. */
  answerWhileBusy(bytes: Uint8Array, answers: BusyAnswers): void {
    this.count(bytes.length);
    this.backlog.append(bytes);
    if (this.canWork()) this.partial = answers.answerAll(this.client, this.backlog, this.partial);
    this.searchedAhead = 0;
    this.boundInput();
  }

  /** The wait is over, or it is this connection's turn again. */
  resume(): void {
    const { client } = this;
    if (client.closing) return;
    client.feed?.writeTo(this.reply, client.connection.pendingBytes);
    this.workOffBacklog();
    this.boundInput();
  }

  suspend(waitMs: number, finish: (call: Call) => void): void {
    if (this.executing) {
      finish(this);
      return;
    }
    this.waitMs = Math.max(waitMs, 0);
    this.finish = finish;
    this.client.blocked = true;
    this.client.isWaiting = true;
  }

  runQueued(commands: readonly QueuedCommand[]): void {
    const { request: exec } = this;
    this.executing = true;
    try {
      for (const { entry, request } of commands) {
        this.request = request;
        if ((entry.needs & this.client.lacks) === 0) this.run(entry, request);
        else if (!isRefusedInTransaction(this, entry)) this.runInDatabase(entry);
      }
    } finally {
      this.executing = false;
      this.request = exec;
    }
  }

  private canWork(): boolean {
    return this.waitMs < 0 && !this.hasMore && !this.client.closing;
  }

  private count(bytes: number): void {
    const { statistics } = this.server;
    this.client.inputBytes += bytes;
    statistics.inputBytes += bytes;
    statistics.readsProcessed++;
  }

  /** For bytes that must wait behind others, or are too many for the lane's input. */
  private enqueue(bytes: Uint8Array): void {
    if (this.client.closing) return;
    this.backlog.append(bytes);
    if (this.canWork()) this.workOffBacklog();
    this.boundInput();
  }

  private workOffBacklog(): void {
    const { backlog } = this;
    const position = this.turn(backlog.input, backlog.start, backlog.end);
    backlog.consumeTo(position);
  }

  private boundInput(): void {
    const { backlog, client } = this;
    client.bufferedInputBytes = backlog.length;
    if (!client.closing && backlog.length > 0 && backlog.length > client.inputLimitBytes(this.server.config)) {
      this.server.statistics.queryLimitDisconnections++;
      client.closing = true;
    }
    if (!client.closing) return;
    backlog.clear();
    this.partial = undefined;
  }

  /** Runs the complete commands of bytes[from..end) and returns the position of the rest. */
  private turn(input: ByteInput, from: number, end: number): number {
    const { lane, client, server } = this;
    lane.timing.startTurn(end - from);
    const nowMs = server.clock.now();
    this.engine.advanceTo(nowMs);
    client.lastActiveAtMs = nowMs;
    this.reply.protocol = client.protocol;
    this.hasMore = false;
    let position = end;
    const repliesBefore = this.reply.length;
    this.engine.ahead.clear();
    this.engine.yieldsToScripts = true;
    try {
      if (this.finish !== undefined) this.finishWaiting();
      // A command that works in slices waits again.
      if (!client.closing) position = this.waitMs < 0 ? this.work(input, from, end) : from;
    } catch (error) {
      this.engine.releaseLocks();
      lane.reportFault(error, client);
      this.reply.truncate(repliesBefore);
      this.reply.error(errors.internal);
      client.closing = true;
    }
    this.engine.yieldsToScripts = false;
    lane.timing.endTurn(nowMs);
    return position;
  }

  private work(input: ByteInput, from: number, end: number): number {
    const { parser, pipeline } = this.lane;
    const isPipeline = end - from >= Pipeline.USEFUL_FROM_BYTES && this.client.authenticated;
    const isAhead = isPipeline && this.engine.ahead.isUseful;
    const reader = isAhead ? pipeline : parser;
    reader.foreignSearchedTo = from + this.searchedAhead;
    if (this.partial !== undefined) parser.resume(this.partial);
    this.partial = undefined;
    const position = isAhead ? this.runAhead(input, from, end) : this.runEach(input, from, end);
    this.searchedAhead = Math.max(reader.foreignSearchedTo - position, 0);
    return position;
  }

  private runEach(input: ByteInput, from: number, end: number): number {
    const { reply, client } = this;
    const { parser } = this.lane;
    this.request = parser;
    for (let position = from; ; position = parser.position) {
      parser.authenticated = client.authenticated;
      const result = parser.next(input, position, end);
      if (result !== ParseResult.Complete) return this.leave(result, parser, end);
      const replyStart = reply.length;
      this.dispatch();
      if (client.replyMode !== ReplyMode.On) silence(this, replyStart, this.waitMs >= 0);
      if (this.isTurnOver(parser.position, end)) return parser.position;
    }
  }

  /** The same in a store whose memory is waited for. */
  private runAhead(input: ByteInput, from: number, end: number): number {
    const { reply, client, lane } = this;
    const { parsers, entries } = lane.pipeline;
    for (let position = from; ; ) {
      const count = lane.pipeline.read(input, position, end);
      for (let index = 0; index < count; index++) {
        const replyStart = reply.length;
        lane.pipeline.expect(index);
        this.request = parsers[index];
        this.dispatchTo(entries[index]);
        if (client.replyMode !== ReplyMode.On) silence(this, replyStart, this.waitMs >= 0);
        position = parsers[index].position;
        if (this.isTurnOver(position, end)) return position;
      }
      const { result } = lane.pipeline;
      if (result !== ParseResult.Complete) return this.leave(result, parsers[count], end);
    }
  }

  /** Whether what follows a command that has run is for another turn, or for none. */
  private isTurnOver(position: number, end: number): boolean {
    if (this.client.closing || this.waitMs >= 0) return true;
    const { reply } = this;
    const { timedMicroseconds } = this.timing;
    if (reply.length <= Session.TURN_OUTPUT_BYTES && timedMicroseconds <= Session.TURN_MICROSECONDS) return false;
    this.hasMore = position < end;
    return true;
  }

  /** No further command is complete: keeps the beginning of the next, or closes the connection on an error. */
  private leave(result: ParseResult, parser: RequestParser, end: number): number {
    if (result === ParseResult.Incomplete) {
      this.partial = parser.suspend();
      return parser.position;
    }
    if (result === ParseResult.Foreign) this.lane.foreignClients.refuse(this.client);
    else replyError(this, `ERR ${parser.failure}`);
    this.client.closing = true;
    return end;
  }

  private dispatch(): void {
    const { input, argumentStart, argumentLength } = this.request;
    this.dispatchTo(this.server.commands.index.findIn(input, argumentStart[0], argumentLength[0]));
  }

  private dispatchTo(named: CommandEntry | undefined): void {
    const { request, client } = this;
    if (named === undefined) {
      reject(this, undefined, unknownCommand(request));
      return;
    }
    let entry = named;
    if (entry.subcommands !== undefined && request.argumentCount > 1) {
      const subcommand = entry.subcommands.find(
        request.input.bytes,
        request.argumentStart[1],
        request.argumentLength[1],
      );
      if (subcommand === undefined) {
        reject(this, entry, unknownSubcommand(request));
        return;
      }
      entry = subcommand;
    }
    if (client.lastEntry !== entry) client.lastEntry = entry;
    if (request.argumentCount < entry.minimumArguments || request.argumentCount > entry.maximumArguments) {
      reject(this, entry, errors.wrongArity(entry.fullName, entry.usage));
    } else if ((entry.needs & client.lacks) === 0) {
      if (!isHeldBack(this, entry)) this.run(entry, request);
    } else if ((entry.needs & client.lacks) === Need.slot) {
      if (isHere(this, entry) && !isHeldBack(this, entry)) this.run(entry, request);
    } else if (
      !isRefused(this, entry) &&
      isHere(this, entry) &&
      !isPostponed(this, entry) &&
      !isHeldBack(this, entry)
    ) {
      this.runInDatabase(entry);
    }
  }

  runApart(entry: CommandEntry, words: readonly Uint8Array[]): Uint8Array {
    const { reply, request } = this;
    const replyStart = reply.length;
    this.request = requestOf(words);
    if (!isHeldBack(this, entry)) this.run(entry, this.request);
    this.request = request;
    const bytes = reply.bytes.slice(replyStart, reply.length);
    reply.truncate(replyStart);
    return bytes;
  }

  beginAnew(request: Request): void {
    this.request = request;
    this.dispatch();
    this.request = this.lane.parser;
  }

  /** Runs a command of a client that may have selected another database than 0. */
  private runInDatabase(entry: CommandEntry): void {
    const { client, lane, request } = this;
    if (entry.firstKey !== 0 && (entry.needs & client.lacks & Need.database) !== 0) {
      this.request = lane.databaseRequest.map(request, entry, client.database);
    }
    this.run(entry, request);
    this.request = request;
  }

  /** `sent` is the request with the names that the client wrote. */
  private run(entry: CommandEntry, sent: Request): void {
    const { reply, timing, commandStatistics } = this;
    const replyStart = reply.length;
    const errorsBefore = reply.errors;
    try {
      if (entry.timed || timing.timesEvery) {
        timing.run(entry, this, sent);
      } else {
        entry.run!(this);
        commandStatistics.countInTurn(entry.id);
      }
    } catch (error) {
      rejectBusy(this, error, replyStart);
    }
    if (reply.errors !== errorsBefore && reply.bytes[replyStart] === MINUS) {
      commandStatistics.failed[entry.id]++;
      this.server.statistics.errors.countReply(reply, replyStart);
    }
  }

  private finishWaiting(): void {
    const finish = this.finish!;
    this.finish = undefined;
    this.waitMs = Session.NOT_WAITING;
    this.client.blocked = false;
    this.client.isWaiting = false;
    const replyStart = this.reply.length;
    try {
      finish(this);
    } catch (error) {
      rejectBusy(this, error, replyStart);
    }
    if (this.client.unblocked) {
      this.client.unblocked = false;
      this.reply.truncate(replyStart);
      replyError(this, errors.unblocked);
    }
    if (this.client.replyMode !== ReplyMode.On) silence(this, replyStart, this.waitMs >= 0);
  }
}

const MINUS = 0x2d;
