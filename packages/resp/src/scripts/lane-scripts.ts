import { DATABASE_PREFIX_BYTES } from '@quotadb/engine';
import { Environment, first, type Value } from '@quotadb/lua';
import { errors } from '../errors/errors.js';
import { numberArgument } from '../request/arguments.js';
import type { ScriptBoard } from '../services/script-board.js';
import type { Client } from '../session/client.js';
import type { Call } from '../session/command.js';
import type { Scripts } from '../session/scripts.js';
import { type CompiledScript, CompiledScripts, DIGEST_DIGITS } from './compiled-scripts.js';
import { redisLibrary } from './redis-library.js';
import { latin1 } from './reply-reader.js';
import { RequestWords } from './request-words.js';
import { ResultWriter } from './result-writer.js';
import { ScriptCall } from './script-call.js';
import { writeFailure } from './script-failure.js';
import { RunAgain, ScriptLocks } from './script-locks.js';
import { ScriptWatch } from './script-watch.js';

/** Positions in EVAL and its kin. */
const SOURCE = 1;
const KEY_COUNT = 2;
const FIRST_KEY = 3;

/** The scripts of one lane. One runs at a time, from its start to its end. */
export class LaneScripts implements Scripts {
  readonly board: ScriptBoard;
  meanwhile: (running: Client) => void = () => {};
  private readonly locks = new ScriptLocks();
  private readonly call: ScriptCall;
  private readonly watch: ScriptWatch;
  private readonly compiled: CompiledScripts;
  private readonly keys = new RequestWords();
  private readonly argv = new RequestWords();

  constructor(board: ScriptBoard, lane: number, log: (level: number, text: string) => void) {
    this.board = board;
    this.watch = new ScriptWatch(board, lane);
    this.call = new ScriptCall(this.locks);
    const redis = redisLibrary(this.call, log);
    const environment = new Environment({
      libraries: { redis },
      takingWords: new Set<Value>([redis.get('call'), redis.get('pcall')]),
      interrupt: () => this.watch.look(this.call.hasWritten, () => this.meanwhile(this.call.client)),
    });
    this.compiled = new CompiledScripts(board, environment);
  }

  evaluate(call: Call, isReadOnly: boolean): void {
    const { request, reply } = call;
    const keyCount = readKeyCount(call);
    if (keyCount < 0) return;
    const { argumentStart, argumentLength } = request;
    const source = latin1(request.input.bytes, argumentStart[SOURCE], argumentLength[SOURCE]);
    const compiled = this.compiled.add(source, false);
    if (typeof compiled === 'string') reply.errorLatin1(compiled);
    else this.run(call, compiled, keyCount, isReadOnly);
  }

  evaluateStored(call: Call, isReadOnly: boolean): void {
    const { request, reply } = call;
    const { argumentStart, argumentLength } = request;
    if (argumentLength[SOURCE] !== DIGEST_DIGITS) {
      reply.error(errors.noScript);
      return;
    }
    const keyCount = readKeyCount(call);
    if (keyCount < 0) return;
    const compiled = this.compiled.find(request.input, argumentStart[SOURCE]);
    if (compiled === undefined) reply.error(errors.noScript);
    else this.run(call, compiled, keyCount, isReadOnly);
  }

  load(source: string): { readonly digest: string } | { readonly error: string } {
    const compiled = this.compiled.add(source, true);
    return typeof compiled === 'string' ? { error: compiled } : { digest: compiled.digest };
  }

  private run(call: Call, compiled: CompiledScript, keyCount: number, isReadOnlyCommand: boolean): void {
    const { shebang } = compiled;
    const noWrites = shebang.flags.has('no-writes');
    if (isReadOnlyCommand && shebang.isThere && !noWrites) {
      call.reply.error(errors.scriptWritesReadOnly);
      return;
    }
    const isReadOnly = isReadOnlyCommand || noWrites;
    this.watch.begin(call);
    try {
      const isDone = this.attempt(call, compiled, keyCount, isReadOnly, compiled.needsAll);
      if (!isDone) this.attempt(call, compiled, keyCount, isReadOnly, true);
    } finally {
      this.watch.end();
      this.call.end();
    }
  }

  /** False where the script has to run again with all shards locked; it has changed nothing then. */
  private attempt(
    call: Call,
    compiled: CompiledScript,
    keyCount: number,
    isReadOnly: boolean,
    needsAll: boolean,
  ): boolean {
    const { client, request, reply } = call;
    const { database } = client;
    const keyEnd = FIRST_KEY + keyCount;
    this.keys.begin(request, FIRST_KEY, keyEnd, database === 0 ? 0 : DATABASE_PREFIX_BYTES);
    this.argv.begin(request, keyEnd, request.argumentCount, 0);
    this.call.begin(call, isReadOnly, this.beforeWrite);
    this.locks.take(call, FIRST_KEY, keyEnd, needsAll);
    const replyStart = reply.length;
    try {
      const result = first(compiled.script.run(this.keys, this.argv));
      new ResultWriter(reply, this.call.reply.protocol === 3).write(result);
    } catch (error) {
      if (error instanceof RunAgain) return false;
      reply.truncate(replyStart);
      writeFailure(call, error, compiled.digest);
    } finally {
      // A SELECT of the script holds until its end.
      if (client.database !== database) client.database = database;
      this.locks.give();
      compiled.learn(this.locks.reachedFurther);
    }
    return true;
  }

  private readonly beforeWrite = (): void => this.watch.beforeWrite();
}

/** Less than 0 after an error reply. */
function readKeyCount({ request, reply }: Call): number {
  const count = numberArgument(request, KEY_COUNT);
  if (count >= 0 && count <= request.argumentCount - FIRST_KEY) return count;
  if (Number.isNaN(count)) reply.error(errors.notAnInteger);
  else reply.error(count < 0 ? errors.scriptKeysNegative : errors.scriptKeysTooMany);
  return -1;
}
