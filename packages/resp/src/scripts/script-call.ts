import { Need } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import { running, type Table, TURNS_BETWEEN_INTERRUPTS, type Value } from '@quotadb/lua';
import { ReplyWriter, type Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { HERE } from '../services/cluster-board.js';
import type { Client } from '../session/client.js';
import type { Call } from '../session/command.js';
import type { CommandEntry } from '../session/command-index.js';
import { DatabaseRequest } from '../session/databases.js';
import { lastKeyOf } from '../session/key-positions.js';
import { namesReservedKey, refusal } from '../session/permission.js';
import type { ServerState } from '../session/server-state.js';
import { NO_SLOT, slotOfRequest } from '../session/slots.js';
import { errorTable, libraryError } from './error-table.js';
import { ReplyReader } from './reply-reader.js';
import type { RequestWord } from './request-words.js';
import type { ScriptLocks } from './script-locks.js';
import { ScriptRequest } from './script-request.js';

/**
 * The commands that a script calls. Each goes through the gate that those of clients go through: arity, permissions of
 * the client that runs the script, reserved keys, a disk that fails. Commands do not wait, as inside EXEC.
 */
export class ScriptCall implements Call {
  /** What the running command reads: the words that the script wrote, with the keys of its client's database. */
  request: Request;
  readonly reply = new ReplyWriter();
  readonly executing = true;
  server!: ServerState;
  engine!: Engine;
  client!: Client;
  /** A command that writes has been called. */
  hasWritten = false;
  /** The last command that was called has failed. */
  hasFailed = false;

  private readonly words = new ScriptRequest();
  private readonly wordsInDatabase = new DatabaseRequest();
  private readonly locks: ScriptLocks;
  private readonly reader = new ReplyReader();
  /** By the name as scripts write it, in whatever case. */
  private readonly entries = new Map<Value | RequestWord, CommandEntry>();
  private isReadOnly = false;
  private beforeWrite: () => void = () => {};

  constructor(locks: ScriptLocks) {
    this.locks = locks;
    this.request = this.words;
  }

  /** A script begins. `beforeWrite` is called before its first write, and may end it. */
  begin(call: Call, isReadOnly: boolean, beforeWrite: () => void): void {
    this.server = call.server;
    this.engine = call.engine;
    this.client = call.client;
    this.isReadOnly = isReadOnly;
    this.beforeWrite = beforeWrite;
    this.hasWritten = false;
    this.reply.protocol = 2;
  }

  end(): void {
    this.words.end();
    this.reply.reset();
  }

  suspend(_waitMs: number, finish: (call: Call) => void): void {
    finish(this);
  }

  runQueued(): void {
    throw new Error('EXEC cannot be called from a script');
  }

  /** redis.pcall: the reply, an error as a table. */
  run(values: readonly (Value | RequestWord)[]): Value {
    const { words, reply, server } = this;
    this.hasFailed = true;
    if (values.length === 0) return libraryError(errors.scriptNoArguments);
    this.request = words;
    const known = this.entries.get(values[0]);
    // The words of a command that is known begin behind its name, which is not read then.
    if (!words.fill(values, known === undefined ? 0 : 1)) return libraryError(errors.scriptArgumentType);
    const entry = known === undefined || known.subcommands !== undefined ? this.find(values[0], known) : known;
    const refused = this.refusalOf(entry);
    if (refused !== undefined) {
      if (entry !== undefined) server.statistics.commands.rejected[entry.id]++;
      return this.failed(refused);
    }
    return this.call(entry as CommandEntry, reply);
  }

  /** redis.acl_check_cmd; undefined where there is no such command. */
  isPermitted(values: readonly Value[]): boolean | undefined {
    const entry = this.words.fill(values, 0) ? this.find(values[0], undefined) : undefined;
    if (entry === undefined) return undefined;
    return (entry.needs & this.client.lacks) === 0 || refusal(this.client, entry, this.words) === undefined;
  }

  private call(entry: CommandEntry, reply: ReplyWriter): Value {
    const { commands } = this.server.statistics;
    reply.reset();
    const errorsBefore = reply.errors;
    entry.run!(this);
    commands.countInTurn(entry.id);
    // One that went over all keys may have taken long: the script is looked at before it goes on.
    running.work(entry.reach === 'all' ? TURNS_BETWEEN_INTERRUPTS : this.request.argumentCount);
    if (reply.errors !== errorsBefore && reply.bytes[0] === MINUS) {
      commands.failed[entry.id]++;
      const error = this.reader.read(reply) as Table;
      this.countError(error.get('err') as string);
      return error;
    }
    this.hasFailed = false;
    return this.reader.read(reply);
  }

  private find(name: Value | RequestWord, known: CommandEntry | undefined): CommandEntry | undefined {
    const { words: request, server } = this;
    const { bytes } = request.input;
    let entry = known;
    if (entry === undefined) {
      entry = server.commands.index.find(bytes, request.argumentStart[0], request.argumentLength[0]);
      if (entry === undefined) return undefined;
      if (typeof name === 'string' && this.entries.size < MAXIMUM_NAMES) this.entries.set(name, entry);
    }
    if (entry.subcommands === undefined || request.argumentCount < 2) return entry;
    return entry.subcommands.find(bytes, request.argumentStart[1], request.argumentLength[1]);
  }

  /** Why the command cannot run; in Redis's order. Takes the locks that it needs. */
  private refusalOf(entry: CommandEntry | undefined): string | undefined {
    const { words: request, client } = this;
    if (entry === undefined) return errors.scriptUnknownCommand;
    const { argumentCount } = request;
    if (argumentCount < entry.minimumArguments || argumentCount > entry.maximumArguments) return errors.scriptArity;
    if (!entry.allowedInScript) return errors.scriptNotAllowed;
    if ((entry.needs & client.lacks) !== 0) {
      const reason = refusal(client, entry, request);
      if (reason !== undefined) return reason === errors.keyNotPermitted ? errors.scriptKey : errors.scriptPermission;
    }
    if (!this.isLocal(entry)) return errors.scriptForeignKey;
    if (entry.isWrite) {
      if (this.isReadOnly) return errors.scriptReadOnly;
      if (this.server.disk.refusesWrites) return errors.diskFailed;
    }
    if (entry.firstKey !== 0 && namesReservedKey(request, entry)) return errors.reservedKey;
    if (entry.firstKey !== 0 && (entry.needs & client.lacks & Need.database) !== 0)
      this.request = this.wordsInDatabase.map(request, entry, client.database);
    if (!this.reaches(entry)) return errors.scriptKeyBusy;
    if (entry.isWrite && !this.hasWritten) {
      this.beforeWrite();
      this.hasWritten = true;
    }
    return undefined;
  }

  /** Whether the keys of the command are of this node's group. */
  private isLocal(entry: CommandEntry): boolean {
    const { cluster } = this.server;
    if (cluster === undefined || entry.firstKey === 0) return true;
    const slot = slotOfRequest(entry, this.words);
    if (slot < 0) return slot === NO_SLOT;
    // The slot of the script itself was here when it began: one that moves waits for it.
    return cluster.owners[slot] === HERE || slot === this.client.slot;
  }

  private reaches(entry: CommandEntry): boolean {
    const { locks, request } = this;
    if (!locks.areNeeded || entry.reach === 'none') return true;
    if (entry.reach === 'all') return locks.reachAll(this.hasWritten);
    return locks.reachKeys(request, entry.firstKey, lastKeyOf(entry, request), entry.keyStep, this.hasWritten);
  }

  private failed(message: string): Value {
    this.countError(message);
    return errorTable(message);
  }

  private countError(message: string): void {
    const space = message.indexOf(' ');
    this.server.statistics.errors.count(space < 0 ? message : message.slice(0, space));
  }
}

const MINUS = 0x2d;
/** Names in all their cases that are kept. */
const MAXIMUM_NAMES = 1000;
