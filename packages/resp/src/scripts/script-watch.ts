import type { Engine } from '@quotadb/engine';
import { position } from '@quotadb/lua';
import { errors } from '../errors/errors.js';
import { type ScriptBoard, Slow } from '../services/script-board.js';
import type { Call } from '../session/command.js';
import type { ServerState } from '../session/server-state.js';

/** Ends a script from outside. No pcall catches it. */
export class ScriptEnded extends Error {
  override readonly name = 'ScriptEnded';
  /** Where the script was. */
  readonly line: number;

  constructor(message: string) {
    super(message);
    this.line = position(1).line;
  }
}

/**
 * The time of the script that runs on this lane. Past --busy-reply-threshold others that need its keys get BUSY, and
 * until its first write it can be killed. After LONGEST_MS it is ended in any case: a lane must not hang for ever.
 */
export class ScriptWatch {
  /** Redis lets a script that has written run without end. */
  static readonly LONGEST_MS = 60_000;
  /** While a script is slow, the lane looks this often for others to answer. */
  private static readonly MEANWHILE_MS = 10;

  private readonly board: ScriptBoard;
  private readonly lane: number;
  private server!: ServerState;
  private engine!: Engine;
  private startedAtMs = 0;
  private isSlow = false;
  private meanwhileAtMs = 0;

  constructor(board: ScriptBoard, lane: number) {
    this.board = board;
    this.lane = lane;
  }

  begin({ engine, server }: Call): void {
    this.engine = engine;
    this.server = server;
    this.startedAtMs = NOT_LOOKED_AT;
  }

  end(): void {
    if (!this.isSlow) return;
    this.isSlow = false;
    this.board.setSlow(this.lane, Slow.no);
    this.engine.countSlowScripts(-1);
  }

  /** Before the first write: from now on the script cannot be killed. Throws where it has been. */
  beforeWrite(): void {
    if (this.isSlow && !this.board.beginWriting(this.lane)) throw new ScriptEnded(errors.scriptKilled);
  }

  /** Called every thousand steps of a script, some microseconds apart. */
  look(hasWritten: boolean, meanwhile: () => void): void {
    const { clock, config } = this.server;
    const nowMs = clock.monotonic();
    // Most scripts are over before the first look, and need no clock.
    if (this.startedAtMs === NOT_LOOKED_AT) this.startedAtMs = nowMs;
    const tookMs = nowMs - this.startedAtMs;
    const threshold = config.busyReplyThresholdMs;
    if (tookMs > ScriptWatch.LONGEST_MS) throw new ScriptEnded(errors.scriptTooSlow(ScriptWatch.LONGEST_MS / 1000));
    if (threshold === 0 || tookMs < threshold) return;
    if (!this.isSlow) {
      this.isSlow = true;
      this.board.setSlow(this.lane, hasWritten ? Slow.hasWritten : Slow.yes);
      this.engine.countSlowScripts(1);
      this.meanwhileAtMs = nowMs;
    }
    if (nowMs >= this.meanwhileAtMs) {
      this.meanwhileAtMs = nowMs + ScriptWatch.MEANWHILE_MS;
      meanwhile();
    }
    if (this.board.slowOf(this.lane) === Slow.killed) throw new ScriptEnded(errors.scriptKilled);
  }
}

const NOT_LOOKED_AT = -1;
