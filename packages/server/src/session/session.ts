import type { ByteInput, Engine } from '@quotadb/engine';
import { isReservedName } from '@quotadb/rate';
import { ParseResult, type PartialRequest, type ReplyWriter, type Request } from '@quotadb/wire';
import { refusal, refusalInTransaction } from '../access/permission.js';
import type { Call } from '../commands/command.js';
import { errors } from '../errors.js';
import type { ServerState } from '../server-state.js';
import { Slowlog } from '../statistics/slowlog.js';
import { Backlog } from './backlog.js';
import { type Client, ReplyMode } from './client.js';
import type { CommandEntry } from './command-index.js';
import { Lane } from './lane.js';
import type { QueuedCommand } from './transaction.js';
import { unknownCommand, unknownSubcommand } from './unknown.js';

/**
 * One connection's half of the conversation, without the network: bytes in, replies out.
 *
 *   receive(bytes)   runs every command that is complete; the replies are in lane.reply, to be taken at once
 *   waitMs           0 or more: a command waits; call resume() after so many milliseconds
 *   hasMore          commands are left over because this turn was long enough: call resume() when others had theirs
 *   client.closing   send the replies, then close
 *
 * While waitMs or hasMore says so, bytes received are kept for later; whoever carries them should stop reading.
 */
export class Session implements Call {
  static readonly NOT_WAITING = -1;
  /** Replies past this are sent before more are made: a pipeline of large replies must not pile up in memory. */
  static readonly TURN_OUTPUT_BYTES = 256 * 1024;
  /** Costly commands past this give way to other connections. */
  static readonly TURN_MICROSECONDS = 5000;
  /** Turns with more input than this are always timed. */
  static readonly LONG_TURN_BYTES = 4096;
  /** What may wait behind the login of a client that is nobody yet: as much as the smallest limit for others. */
  static readonly UNAUTHENTICATED_INPUT_BYTES = 1024 * 1024;
  /** With a slow log this eager every command is timed by itself. */
  static readonly PRECISE_SLOWLOG_MICROSECONDS = 1000;

  readonly client: Client;
  readonly server: ServerState;
  readonly engine: Engine;
  readonly reply: ReplyWriter;
  /** The command that runs: what the parser found, or one that MULTI kept. */
  request: Request;

  waitMs = Session.NOT_WAITING;
  hasMore = false;

  private readonly lane: Lane;
  private readonly backlog = new Backlog();
  private partial: PartialRequest | undefined = undefined;
  private finish: ((call: Call) => void) | undefined = undefined;
  executing = false;
  private timedCount = 0;
  private timedMicroseconds = 0;
  private timeEvery = false;

  constructor(lane: Lane, client: Client) {
    this.lane = lane;
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
   * For those who can read right into the lane's input: the place where the next bytes belong, up to Lane.READ_BYTES of
   * them. What this connection had left over is in front of it by then.
   */
  stage(): number {
    const { backlog, lane } = this;
    const kept = backlog.length;
    if (kept === 0 || kept > Lane.STAGED_BYTES || !this.canWork()) return 0;
    lane.input.bytes.set(backlog.input.bytes.subarray(backlog.start, backlog.end));
    return kept;
  }

  /** So many bytes have been put where stage() said, and no other session has run since. */
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

  /** The wait is over, or it is this connection's turn again. */
  resume(): void {
    if (this.client.closing) return;
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
  }

  runQueued(commands: readonly QueuedCommand[]): void {
    this.executing = true;
    try {
      for (const { entry, request } of commands) {
        this.request = request;
        if ((entry.needs & this.client.lacks) === 0) this.run(entry);
        else this.runIfStillPermitted(entry);
      }
    } finally {
      this.executing = false;
      this.request = this.lane.parser;
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

  /** Bytes that must queue up behind others, or are too many for the lane's input. */
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
    if (client.closing) {
      backlog.clear();
      this.partial = undefined;
    } else if (backlog.length > 0 && backlog.length > this.inputLimitBytes()) {
      this.server.statistics.queryLimitDisconnections++;
      client.closing = true;
      backlog.clear();
      this.partial = undefined;
    }
  }

  private inputLimitBytes(): number {
    const { client, server } = this;
    const { queryBufferLimitBytes } = server.config;
    return client.authenticated
      ? queryBufferLimitBytes
      : Math.min(queryBufferLimitBytes, Session.UNAUTHENTICATED_INPUT_BYTES);
  }

  /** Runs what it can of bytes[from..end) and returns how far it came. */
  private turn(input: ByteInput, from: number, end: number): number {
    const { lane, client, server } = this;
    const isTimed = (lane.turns++ & (lane.turnsPerTiming - 1)) === 0 || end - from > Session.LONG_TURN_BYTES;
    const startedAtMs = isTimed ? server.clock.monotonic() : 0;
    const nowMs = server.clock.now();
    this.engine.advanceTo(nowMs);
    client.lastActiveAtMs = nowMs;
    this.reply.protocol = client.protocol;
    this.hasMore = false;
    this.timedCount = 0;
    this.timedMicroseconds = 0;
    const slowerThan = server.config.slowlogSlowerThanMicroseconds;
    this.timeEvery = slowerThan >= 0 && slowerThan < Session.PRECISE_SLOWLOG_MICROSECONDS;
    let position = end;
    const repliesBefore = this.reply.length;
    try {
      if (this.finish !== undefined) this.finishWaiting();
      position = this.work(input, from, end);
    } catch (error) {
      this.engine.releaseLocks();
      lane.reportFault(error, client);
      this.reply.truncate(repliesBefore);
      this.reply.error(errors.internal);
      client.closing = true;
    }
    if (isTimed) this.closeTurn(startedAtMs, nowMs);
    else this.closeUntimedTurn();
    return position;
  }

  private work(input: ByteInput, from: number, end: number): number {
    const { parser } = this.lane;
    const { reply, client } = this;
    let position = from;
    if (this.partial !== undefined) {
      parser.resume(this.partial);
      this.partial = undefined;
    }
    for (;;) {
      parser.authenticated = client.authenticated;
      const result = parser.next(input, position, end);
      if (result !== ParseResult.Complete) return this.leave(result, end);
      position = parser.position;
      const replyStart = reply.length;
      this.dispatch();
      if (client.replyMode !== ReplyMode.On) this.silence(replyStart);
      if (client.closing) return end;
      if (this.waitMs >= 0) return position;
      if (reply.length > Session.TURN_OUTPUT_BYTES || this.timedMicroseconds > Session.TURN_MICROSECONDS) {
        this.hasMore = position < end;
        return position;
      }
    }
  }

  /** No further command is complete: keep its beginning, or end a conversation that makes no sense. */
  private leave(result: ParseResult, end: number): number {
    const { parser } = this.lane;
    if (result === ParseResult.Incomplete) {
      this.partial = parser.suspend();
      return parser.position;
    }
    this.replyError(`ERR ${parser.failure}`);
    this.client.closing = true;
    return end;
  }

  private dispatch(): void {
    const { request, client } = this;
    const bytes = request.input.bytes;
    const { index } = this.server.commands;
    let entry = index.find(bytes, request.argumentStart[0], request.argumentLength[0]);
    if (entry === undefined) {
      this.reject(undefined, unknownCommand(request));
      return;
    }
    if (entry.subcommands !== undefined && request.argumentCount > 1) {
      const subcommand = entry.subcommands.find(bytes, request.argumentStart[1], request.argumentLength[1]);
      if (subcommand === undefined) {
        this.reject(entry, unknownSubcommand(request));
        return;
      }
      entry = subcommand;
    }
    client.lastCommand = entry.fullName;
    if (request.argumentCount < entry.minimumArguments || request.argumentCount > entry.maximumArguments) {
      this.reject(entry, errors.wrongArity(entry.fullName));
    } else if ((entry.needs & client.lacks) !== 0 && this.isRefused(entry)) {
      return;
    } else if (entry.isWrite && this.server.disk.refusesWrites) {
      this.reject(entry, errors.diskFailed);
    } else if (entry.firstKey !== 0 && namesReservedKey(request, entry)) {
      this.reject(entry, errors.reservedKey);
    } else if (client.transaction !== undefined && !entry.neverQueued) {
      this.queue(entry);
    } else {
      this.run(entry);
    }
  }

  private run(entry: CommandEntry): void {
    const { reply } = this;
    const { commands } = this.server.statistics;
    const replyStart = reply.length;
    const errorsBefore = reply.errors;
    if (entry.timed || this.timeEvery) {
      this.runTimed(entry);
    } else {
      entry.run!(this);
      commands.countInBatch(entry.id);
    }
    if (reply.errors !== errorsBefore && reply.bytes[replyStart] === MINUS) {
      commands.failed[entry.id]++;
      this.countError(replyStart);
    }
  }

  private runTimed(entry: CommandEntry): void {
    const { clock, config, statistics, latency, slowlog } = this.server;
    const { client, request } = this;
    const startedAtMs = clock.monotonic();
    entry.run!(this);
    const milliseconds = clock.monotonic() - startedAtMs;
    const microseconds = milliseconds * 1000;
    statistics.commands.countTimed(entry.id, microseconds);
    this.timedCount++;
    this.timedMicroseconds += microseconds;
    if (config.latencyThresholdMs > 0 && milliseconds >= config.latencyThresholdMs) {
      latency.record('command', clock.now(), Math.round(milliseconds));
    }
    const slowerThan = config.slowlogSlowerThanMicroseconds;
    // EXEC is left out: what is in it is timed by itself.
    if (slowerThan < 0 || microseconds < slowerThan || entry.neverQueued) return;
    slowlog.add(
      {
        atSeconds: Math.floor(clock.now() / 1000),
        microseconds: Math.round(microseconds),
        words: Slowlog.words(request),
        address: client.address,
        clientName: client.name,
      },
      config.slowlogMaximumLength,
    );
  }

  /** True having replied with the reason. */
  private isRefused(entry: CommandEntry): boolean {
    const reason = refusal(this.client, entry, this.request);
    if (reason !== undefined) this.reject(entry, reason);
    return reason !== undefined;
  }

  private runIfStillPermitted(entry: CommandEntry): void {
    const reason = refusalInTransaction(this.client, entry, this.request);
    if (reason === undefined) {
      this.run(entry);
      return;
    }
    this.server.statistics.commands.rejected[entry.id]++;
    this.replyError(reason);
  }

  private queue(entry: CommandEntry): void {
    const transaction = this.client.transaction!;
    if (!entry.allowedInTransaction) {
      this.reject(entry, errors.notInTransaction);
      return;
    }
    if (transaction.broken) {
      // EXEC will discard it anyway; a client that goes on and on must not fill the memory.
      this.reply.simple('QUEUED');
      return;
    }
    transaction.add(entry, this.request);
    if (transaction.bytes > this.server.config.queryBufferLimitBytes) {
      this.server.statistics.queryLimitDisconnections++;
      this.client.closing = true;
      return;
    }
    this.reply.simple('QUEUED');
  }

  /** A command that is not even tried. Inside MULTI that spoils the transaction; EXEC itself ends it. */
  private reject(entry: CommandEntry | undefined, message: string): void {
    const { client } = this;
    if (entry !== undefined) this.server.statistics.commands.rejected[entry.id]++;
    if (entry?.fullName === 'exec') {
      client.transaction = undefined;
      this.replyError(errors.transactionAborted(message));
      return;
    }
    if (client.transaction !== undefined) client.transaction.broken = true;
    this.replyError(message);
  }

  private replyError(message: string): void {
    const start = this.reply.length;
    this.reply.error(message);
    this.countError(start);
  }

  private countError(replyStart: number): void {
    const { bytes, length } = this.reply;
    let end = replyStart + 1;
    while (end < length && bytes[end] > SPACE) end++;
    this.server.statistics.errors.count(Buffer.from(bytes.subarray(replyStart + 1, end)).toString('latin1'));
  }

  private silence(replyStart: number): void {
    const { client } = this;
    this.reply.truncate(replyStart);
    if (client.replyMode === ReplyMode.SkipNext) client.replyMode = ReplyMode.Skip;
    else if (client.replyMode === ReplyMode.Skip && this.waitMs < 0) client.replyMode = ReplyMode.On;
  }

  private finishWaiting(): void {
    const finish = this.finish!;
    this.finish = undefined;
    this.waitMs = Session.NOT_WAITING;
    this.client.blocked = false;
    const replyStart = this.reply.length;
    finish(this);
    if (this.client.replyMode !== ReplyMode.On) this.silence(replyStart);
  }

  /** Reading the clock twice costs as much as a command does, so most short turns are taken to be as long as others. */
  private closeUntimedTurn(): void {
    const { statistics } = this.server;
    statistics.commandsProcessed += statistics.commands.closeUntimedBatch() + this.timedCount;
  }

  private closeTurn(startedAtMs: number, nowMs: number): void {
    const { clock, config, statistics, latency } = this.server;
    const milliseconds = clock.monotonic() - startedAtMs;
    const microseconds = milliseconds * 1000;
    const shared = Math.max(microseconds - this.timedMicroseconds, 0);
    const batchCount = statistics.commands.closeBatch(shared);
    statistics.commandsProcessed += batchCount + this.timedCount;
    statistics.recordTurn(microseconds);
    if (config.latencyThresholdMs > 0 && batchCount > 0 && shared >= config.latencyThresholdMs * 1000) {
      latency.record('fast-command', nowMs, Math.round(shared / 1000));
    }
  }
}

const MINUS = 0x2d;
const SPACE = 0x20;

/** The keys of cells are nobody's but the commands' that make them. */
function namesReservedKey(request: Request, entry: CommandEntry): boolean {
  const { argumentStart, argumentLength, argumentCount } = request;
  const { bytes } = request.input;
  const { lastKey, keyStep } = entry;
  const end = lastKey < 0 ? argumentCount + lastKey : lastKey;
  for (let index = entry.firstKey; index <= end; index += keyStep) {
    if (bytes[argumentStart[index]] === 0 && isReservedName(bytes, argumentStart[index], argumentLength[index]))
      return true;
  }
  return false;
}
